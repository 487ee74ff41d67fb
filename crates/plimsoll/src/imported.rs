//! Models that Keras has saved, in training: what they were compiled with.

use plimsoll_import::keras::Setting;
use plimsoll_train::{Loss, Optimizer};
use serde_json::Value;

/// The losses that are known, as Keras names them.
pub const LOSSES: &str = "sparse_categorical_crossentropy, categorical_crossentropy, binary_crossentropy, mean_squared_error, \
                          mean_absolute_error, huber";

/// The loss a model was compiled with, or why it cannot be used.
pub fn loss(setting: &Setting) -> Result<Loss, String> {
    let name = setting.name.as_str();
    let unused = |key: &str, value: &Value| match key {
        "name" | "dtype" | "fn" => true,
        "from_logits" | "delta" => true,
        "reduction" => matches!(value.as_str(), Some("sum_over_batch_size" | "auto" | "mean")),
        "label_smoothing" => value.as_f64() == Some(0.0),
        "axis" => value.as_i64() == Some(-1),
        _ => false,
    };
    if let Some((key, value)) = setting.fields.iter().find(|(key, value)| !unused(key, value)) {
        return Err(format!("the loss {name} has {key}={value}, which is not supported"));
    }
    let from_logits = setting.field("from_logits") == Some(&Value::Bool(true));
    let text = match (from_logits, setting.field("delta")) {
        (true, _) => format!("{name}(from_logits=True)"),
        (false, Some(delta)) => format!("{name}(delta={delta})"),
        (false, None) => name.to_string(),
    };
    Loss::parse(&text).ok_or_else(|| format!("the loss {name} is not supported"))
}

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
    fn losses_are_keras_s() {
        let sparse = json!({"from_logits": true, "reduction": "sum_over_batch_size", "name": "x"});
        let known = loss(&setting("sparse_categorical_crossentropy", sparse)).unwrap();
        assert_eq!(known, Loss::SparseCategoricalCrossEntropy { from_logits: true });
        assert_eq!(loss(&setting("mse", json!({}))), Ok(Loss::MeanSquaredError));
        assert_eq!(loss(&setting("huber", json!({"delta": 0.5}))), Ok(Loss::Huber { delta: 0.5 }));
        let smoothed = json!({"label_smoothing": 0.1});
        assert!(
            loss(&setting("categorical_crossentropy", smoothed)).unwrap_err().contains("label_smoothing=0.1")
        );
        assert!(loss(&setting("hinge", json!({}))).unwrap_err().contains("hinge"));
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
