//! Keras's optimizers with all their settings.

use super::numbers::Numbers;
use super::schedule::schedule;
use plimsoll_graph::op::Average;
use plimsoll_import::keras::Setting;
use plimsoll_train::{Clip, Descent, LossScale, Muon, Optimizer, Schedule, Settings};
use serde_json::Value;

/// What all optimizers have.
const COMMON: [&str; 14] = [
    "name",
    "learning_rate",
    "weight_decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "use_ema",
    "ema_momentum",
    "ema_overwrite_frequency",
    "loss_scale_factor",
    "gradient_accumulation_steps",
    // Keras 3 takes these from older files and does nothing with them.
    "decay",
    "jit_compile",
    "is_legacy_optimizer",
];

/// The optimizer a model was compiled with and its first learning rate, or why it cannot be used.
pub fn optimizer(setting: &Setting) -> Result<(Descent, f32), String> {
    if setting.name == "loss_scale_optimizer" {
        return scaled(setting);
    }
    let numbers = Numbers { setting, what: "optimizer" };
    let (optimizer, own) = rule(&numbers)?;
    numbers.only(&[&COMMON[..], own].concat())?;
    let settings = settings(&numbers, optimizer)?;
    let rate = match &settings.schedule {
        Some(schedule) => schedule.at(0),
        None => numbers.number("learning_rate", f64::from(optimizer.default_learning_rate()))? as f32,
    };
    Ok((Descent { optimizer, settings }, rate))
}

/// An optimizer in one that scales the loss, whose own settings do nothing.
fn scaled(setting: &Setting) -> Result<(Descent, f32), String> {
    let numbers = Numbers { setting, what: "optimizer" };
    numbers.only(
        &[&COMMON[..], &["inner_optimizer", "initial_scale", "dynamic_growth_steps", "dynamic"]].concat(),
    )?;
    let inner =
        setting.field("inner_optimizer").ok_or("the optimizer that scales the loss has none inside")?;
    let (mut descent, rate) = optimizer(&Setting::of(inner))?;
    let initial = numbers.number("initial_scale", 32768.0)?;
    let growth = numbers.count("dynamic_growth_steps")?.unwrap_or(2000);
    descent.settings.loss_scale = Some(LossScale::Dynamic { initial, growth });
    Ok((descent, rate))
}

/// The rule, and the settings that only this optimizer has.
fn rule(numbers: &Numbers<'_>) -> Result<(Optimizer, &'static [&'static str]), String> {
    let beta1 = || numbers.number("beta_1", 0.9);
    let beta2 = || numbers.number("beta_2", 0.999);
    let epsilon = || numbers.number("epsilon", 1e-7);
    let amsgrad = || numbers.flag("amsgrad", false);
    const MOMENTS: &[&str] = &["beta_1", "beta_2", "epsilon"];
    Ok(match numbers.setting.name.as_str() {
        "sgd" => {
            let (momentum, nesterov) = (numbers.number("momentum", 0.0)?, numbers.flag("nesterov", false)?);
            let optimizer = match (momentum == 0.0, nesterov) {
                (true, _) => Optimizer::Sgd,
                (false, true) => Optimizer::Nesterov { momentum },
                (false, false) => Optimizer::Momentum { momentum },
            };
            (optimizer, &["momentum", "nesterov"])
        }
        "rmsprop" => {
            let (rho, epsilon) = (numbers.number("rho", 0.9)?, epsilon()?);
            let momentum = numbers.number("momentum", 0.0)?.max(0.0);
            let centered = numbers.flag("centered", false)?;
            (
                Optimizer::RmsProp { rho, epsilon, momentum, centered },
                &["rho", "epsilon", "momentum", "centered"],
            )
        }
        "adam" => {
            let (beta1, beta2, epsilon, amsgrad) = (beta1()?, beta2()?, epsilon()?, amsgrad()?);
            (Optimizer::Adam { beta1, beta2, epsilon, amsgrad }, &["beta_1", "beta_2", "epsilon", "amsgrad"])
        }
        "adamw" => {
            let (beta1, beta2, epsilon, amsgrad) = (beta1()?, beta2()?, epsilon()?, amsgrad()?);
            let weight_decay = numbers.number("weight_decay", 0.004)?;
            let optimizer = Optimizer::AdamW { beta1, beta2, epsilon, amsgrad, weight_decay };
            (optimizer, &["beta_1", "beta_2", "epsilon", "amsgrad"])
        }
        "nadam" => (Optimizer::Nadam { beta1: beta1()?, beta2: beta2()?, epsilon: epsilon()? }, MOMENTS),
        "adamax" => (Optimizer::Adamax { beta1: beta1()?, beta2: beta2()?, epsilon: epsilon()? }, MOMENTS),
        "lamb" => (Optimizer::Lamb { beta1: beta1()?, beta2: beta2()?, epsilon: epsilon()? }, MOMENTS),
        "lion" => {
            let (beta1, beta2) = (beta1()?, numbers.number("beta_2", 0.99)?);
            (Optimizer::Lion { beta1, beta2 }, &["beta_1", "beta_2"])
        }
        "adagrad" => {
            let initial = numbers.number("initial_accumulator_value", 0.1)?;
            (Optimizer::Adagrad { initial, epsilon: epsilon()? }, &["initial_accumulator_value", "epsilon"])
        }
        "adadelta" => (
            Optimizer::Adadelta { rho: numbers.number("rho", 0.95)?, epsilon: epsilon()? },
            &["rho", "epsilon"],
        ),
        "ftrl" => ftrl(numbers)?,
        "adafactor" => adafactor(numbers)?,
        "muon" => muon(numbers)?,
        "schedule_free_adam_w" => {
            let (beta1, beta2) = (beta1()?, beta2()?);
            let (epsilon, warmup) = (numbers.number("epsilon", 1e-8)?, numbers.count("warmup_steps")?);
            let warmup = warmup.unwrap_or(0);
            let own: &[&str] = &["beta_1", "beta_2", "epsilon", "warmup_steps"];
            (Optimizer::ScheduleFree { beta1, beta2, epsilon, warmup }, own)
        }
        other => return Err(format!("the optimizer {other} is not supported")),
    })
}

fn ftrl(numbers: &Numbers<'_>) -> Result<(Optimizer, &'static [&'static str]), String> {
    const OWN: [&str; 6] = [
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    ];
    let at = |position: usize, default: f64| numbers.number(OWN[position], default);
    let (power, initial, beta) = (at(0, -0.5)?, at(1, 0.1)?, at(5, 0.0)?);
    let (l1, l2, shrinkage) = (at(2, 0.0)?, at(3, 0.0)?, at(4, 0.0)?);
    Ok((Optimizer::Ftrl { power, initial, l1, l2, shrinkage, beta }, &OWN))
}

fn adafactor(numbers: &Numbers<'_>) -> Result<(Optimizer, &'static [&'static str]), String> {
    // `relative_step` changes nothing: the rate is bounded in the same way twice.
    const OWN: [&str; 5] = ["beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step"];
    let decay = numbers.number("beta_2_decay", -0.8)?;
    let (epsilon1, epsilon2) = (numbers.number("epsilon_1", 1e-30)?, numbers.number("epsilon_2", 1e-3)?);
    let threshold = numbers.number("clip_threshold", 1.0)?;
    Ok((Optimizer::Adafactor { decay, epsilon1, epsilon2, threshold }, &OWN))
}

fn muon(numbers: &Numbers<'_>) -> Result<(Optimizer, &'static [&'static str]), String> {
    const OWN: [&str; 14] = [
        "adam_beta_1",
        "adam_beta_2",
        "adam_weight_decay",
        "epsilon",
        "exclude_layers",
        "exclude_embeddings",
        "muon_a",
        "muon_b",
        "muon_c",
        "adam_lr_ratio",
        "momentum",
        "ns_steps",
        "nesterov",
        "rms_rate",
    ];
    let number = |key: &str, default: f64| numbers.number(key, default);
    let muon = Muon {
        momentum: number("momentum", 0.95)?,
        nesterov: numbers.flag("nesterov", true)?,
        polynomial: [number("muon_a", 3.4445)?, number("muon_b", -4.775)?, number("muon_c", 2.0315)?],
        iterations: numbers.count("ns_steps")?.unwrap_or(5),
        rms_rate: numbers.unless_null("rms_rate", 0.2)?,
        weight_decay: numbers.unless_null("weight_decay", 0.004)?.unwrap_or(0.0),
        exclude_embeddings: numbers.flag("exclude_embeddings", true)?,
        adam: [number("adam_beta_1", 0.9)?, number("adam_beta_2", 0.999)?, number("epsilon", 1e-7)?],
        adam_weight_decay: numbers.unless_null("adam_weight_decay", 0.004)?.unwrap_or(0.0),
        adam_rate: number("adam_lr_ratio", 1.0)?,
    };
    match muon.adam_rate > 0.0 && muon.iterations <= 64 {
        true => Ok((Optimizer::Muon(muon), &OWN)),
        false => Err("the optimizer muon has an adam_lr_ratio or ns_steps that is not supported".to_string()),
    }
}

/// What surrounds the rule.
fn settings(numbers: &Numbers<'_>, optimizer: Optimizer) -> Result<Settings, String> {
    let own_decay = matches!(optimizer, Optimizer::AdamW { .. } | Optimizer::Muon(_));
    let weight_decay = if own_decay { None } else { numbers.optional("weight_decay")? };
    let accumulate = numbers.count("gradient_accumulation_steps")?.filter(|&steps| steps > 0);
    if accumulate == Some(1) {
        return Err("the optimizer has gradient_accumulation_steps=1; Keras takes 2 and more".to_string());
    }
    Ok(Settings {
        weight_decay,
        clip: clip(numbers)?,
        average: average(numbers)?,
        loss_scale: numbers.optional("loss_scale_factor")?.map(LossScale::Fixed),
        accumulate,
        schedule: scheduled(numbers)?,
        exclude: excluded(numbers)?,
        constraints: Vec::new(),
    })
}

/// Keras takes limits that are 0 or less for none.
fn clip(numbers: &Numbers<'_>) -> Result<Option<Clip>, String> {
    let limit = |key: &str| Ok::<_, String>(numbers.optional(key)?.filter(|&limit| limit > 0.0));
    Ok(match (limit("clipnorm")?, limit("global_clipnorm")?, limit("clipvalue")?) {
        (Some(norm), ..) => Some(Clip::Norm(norm)),
        (None, Some(norm), _) => Some(Clip::GlobalNorm(norm)),
        (None, None, Some(value)) => Some(Clip::Value(value)),
        (None, None, None) => None,
    })
}

fn average(numbers: &Numbers<'_>) -> Result<Option<Average>, String> {
    if !numbers.flag("use_ema", false)? {
        return Ok(None);
    }
    let momentum = numbers.number("ema_momentum", 0.99)?;
    let overwrite = numbers.count("ema_overwrite_frequency")?.unwrap_or(0);
    match (0.0..=1.0).contains(&momentum) {
        true => Ok(Some(Average { momentum, overwrite })),
        false => Err(format!("the optimizer has ema_momentum={momentum}")),
    }
}

fn scheduled(numbers: &Numbers<'_>) -> Result<Option<Schedule>, String> {
    match numbers.setting.field("learning_rate") {
        Some(value @ Value::Object(_)) => schedule(&Setting::of(value)).map(Some),
        _ => Ok(None),
    }
}

/// The parameters that Muon leaves to Adam. Keras takes regular expressions; words are the same for both.
fn excluded(numbers: &Numbers<'_>) -> Result<Vec<String>, String> {
    let Some(Value::Array(list)) = numbers.setting.field("exclude_layers") else { return Ok(Vec::new()) };
    let plain = |text: &&str| text.chars().all(|c| c.is_alphanumeric() || "_/- ".contains(c));
    let word = |value: &Value| match value.as_str().filter(plain) {
        Some(word) => Ok(word.to_string()),
        None => {
            Err(format!("the optimizer muon has {value} in exclude_layers: only plain words are supported"))
        }
    };
    list.iter().map(word).collect()
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
        let wanted = Optimizer::Adam { beta1: 0.8, beta2: 0.999, epsilon: 1e-7, amsgrad: false };
        assert_eq!((known, rate), (wanted.into(), 0.5));
        let (known, rate) = optimizer(&setting("sgd", json!({"momentum": 0.9, "nesterov": true}))).unwrap();
        assert_eq!((known, rate), (Optimizer::Nesterov { momentum: 0.9 }.into(), 0.01));
        let clipped = json!({"clipnorm": 1.0, "use_ema": true, "ema_overwrite_frequency": 3});
        let (known, _) = optimizer(&setting("lion", clipped)).unwrap();
        assert_eq!(known.settings.clip, Some(Clip::Norm(1.0)));
        assert_eq!(known.settings.average, Some(Average { momentum: 0.99, overwrite: 3 }));
        let off = json!({"rms_rate": null, "weight_decay": null});
        let Optimizer::Muon(muon) = optimizer(&setting("muon", off)).unwrap().0.optimizer else {
            panic!("it is Muon")
        };
        assert_eq!((muon.rms_rate, muon.weight_decay, muon.adam_weight_decay), (None, 0.0, 0.004));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (name, fields, problem) in [
            ("multi_optimizer", json!({}), "multi_optimizer"),
            ("adam", json!({"patience": 1.0}), "patience=1.0"),
            ("sgd", json!({"learning_rate": {"class_name": "Mine", "config": {}}}), "schedule mine"),
            ("rmsprop", json!({"centered": "yes"}), "centered"),
            ("muon", json!({"exclude_layers": ["out.*"]}), "out.*"),
        ] {
            let refused = optimizer(&setting(name, fields)).unwrap_err();
            assert!(refused.contains(problem), "{refused}");
        }
    }

    #[test]
    fn every_optimizer_is_read_by_its_name() {
        for known in Optimizer::DEFAULTS {
            let name = match known {
                Optimizer::Momentum { .. } | Optimizer::Nesterov { .. } => continue,
                Optimizer::ScheduleFree { .. } => "schedule_free_adam_w",
                other => other.name(),
            };
            let (read, rate) = optimizer(&setting(name, json!({}))).unwrap();
            assert_eq!((read.optimizer, rate), (known, known.default_learning_rate()));
        }
    }
}
