//! Models that Keras has saved, in training: what they were compiled with.

mod objective;

pub use objective::{LOSSES, objective};

use plimsoll_import::keras::Setting;
use plimsoll_train::Optimizer;
use serde_json::Value;

/// The optimizer a model was compiled with and its learning rate, or why it cannot be used.
pub fn optimizer(setting: &Setting) -> Result<(Optimizer, f32), String> {
    let number = |key: &str, default: f32| match setting.field(key) {
        None => Ok(default),
        Some(value) => value.as_f64().map(|x| x as f32).ok_or(format!("the optimizer has {key}={value}")),
    };
    let used: &[&str] = match setting.name.as_str() {
        "sgd" => &["momentum", "nesterov"],
        "rmsprop" => &["rho", "epsilon"],
        "adam" => &["beta_1", "beta_2", "epsilon"],
        "adamw" => &["beta_1", "beta_2", "epsilon", "weight_decay"],
        other => return Err(format!("the optimizer {other} is not supported")),
    };
    if let Some((key, value)) = setting.fields.iter().find(|(key, value)| !is_idle(key, value, used)) {
        return Err(format!("the optimizer {} has {key}={value}, which is not supported", setting.name));
    }
    let epsilon = number("epsilon", 1e-7)?;
    let (beta1, beta2) = (number("beta_1", 0.9)?, number("beta_2", 0.999)?);
    let optimizer = match setting.name.as_str() {
        "sgd" => match (number("momentum", 0.0)?, setting.field("nesterov")) {
            (0.0, _) => Optimizer::Sgd,
            (momentum, Some(Value::Bool(true))) => Optimizer::Nesterov { momentum },
            (momentum, _) => Optimizer::Momentum { momentum },
        },
        "rmsprop" => Optimizer::RmsProp { rho: number("rho", 0.9)?, epsilon },
        "adam" => Optimizer::Adam { beta1, beta2, epsilon },
        _ => Optimizer::AdamW { beta1, beta2, epsilon, weight_decay: number("weight_decay", 0.004)? },
    };
    Ok((optimizer, number("learning_rate", optimizer.default_learning_rate())?))
}

/// Whether a setting is read, or changes nothing.
fn is_idle(key: &str, value: &Value, used: &[&str]) -> bool {
    let off = value == &Value::Bool(false) || value.as_f64() == Some(0.0);
    match key {
        "name" | "ema_momentum" | "ema_overwrite_frequency" | "jit_compile" | "is_legacy_optimizer" => true,
        "learning_rate" => value.is_number(),
        _ => used.contains(&key) || off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn setting(name: &str, fields: Value) -> Setting {
        let fields = fields.as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.clone()));
        Setting { name: name.to_string(), fields: fields.collect() }
    }

    #[test]
    fn optimizers_are_keras_s() {
        let adam = json!({"learning_rate": 0.5, "beta_1": 0.8, "use_ema": false, "ema_momentum": 0.99, "amsgrad": false});
        let (known, rate) = optimizer(&setting("adam", adam)).unwrap();
        assert_eq!((known, rate), (Optimizer::Adam { beta1: 0.8, beta2: 0.999, epsilon: 1e-7 }, 0.5));
        let (known, rate) = optimizer(&setting("sgd", json!({"momentum": 0.9, "nesterov": true}))).unwrap();
        assert_eq!((known, rate), (Optimizer::Nesterov { momentum: 0.9 }, 0.01));
        for (name, fields) in [
            ("lion", json!({})),
            ("adam", json!({"clipnorm": 1.0})),
            ("adam", json!({"amsgrad": true})),
            ("sgd", json!({"learning_rate": {"class_name": "CosineDecay"}})),
            ("rmsprop", json!({"centered": true})),
        ] {
            assert!(optimizer(&setting(name, fields)).is_err(), "{name}");
        }
    }
}
