//! How parameters start, from Keras's initializers. It matters only for models without weights.

use super::KerasError;
use super::config::Object;
use super::fields::Fields;
use plimsoll_model::{Distribution, Fan, Initializer};
use serde_json::Value;

/// The start of a kernel; one that we do not have is noted, and the default is taken.
pub(super) fn kernel(fields: &Fields<'_>, key: &str) -> Result<Initializer, KerasError> {
    let Some(value) = fields.get(key) else { return Ok(Initializer::default()) };
    let known = match value {
        Value::String(name) => by_name(name),
        _ => by_config(&Object::read(value)?),
    };
    Ok(known.unwrap_or_else(|| {
        let class = value.get("class_name").unwrap_or(value);
        fields.note(format!("{key} ({class}) is not known; without weights it would be glorot_uniform"));
        Initializer::default()
    }))
}

/// Notes a start that is not the only one we have for a parameter.
pub(super) fn fixed(fields: &Fields<'_>, key: &str, known: &[&str]) {
    let Some(value) = fields.get(key) else { return };
    let name = value.as_str().or(value.get("class_name").and_then(Value::as_str)).unwrap_or_default();
    let plain = name.replace('_', "").to_lowercase();
    let zero = plain == "constant" && value.pointer("/config/value").and_then(Value::as_f64) == Some(0.0);
    let plain = if zero { "zeros" } else { plain.as_str() };
    if !known.contains(&plain) {
        fields.note(format!("{key} ({name}) is not known; without weights it would be {}", known[0]));
    }
}

fn by_name(name: &str) -> Option<Initializer> {
    let scaled = Initializer::scaled;
    Some(match name.replace('_', "").to_lowercase().as_str() {
        "glorotuniform" => Initializer::GLOROT_UNIFORM,
        "glorotnormal" => scaled(1.0, Fan::Average, Distribution::TruncatedNormal),
        "henormal" => Initializer::HE_NORMAL,
        "heuniform" => scaled(2.0, Fan::In, Distribution::Uniform),
        "lecunnormal" => scaled(1.0, Fan::In, Distribution::TruncatedNormal),
        "lecununiform" => scaled(1.0, Fan::In, Distribution::Uniform),
        "zeros" => Initializer::Constant(0.0),
        "ones" => Initializer::Constant(1.0),
        "orthogonal" => Initializer::Orthogonal,
        _ => return None,
    })
}

fn by_config(object: &Object<'_>) -> Option<Initializer> {
    let number = |key: &str| object.config.get(key).and_then(Value::as_f64).map(|x| x as f32);
    let text = |key: &str| object.config.get(key).and_then(Value::as_str);
    match object.class {
        "Constant" => number("value").map(Initializer::Constant),
        "RandomUniform" => {
            let (low, high) = (number("minval")?, number("maxval")?);
            (low == -high && high >= 0.0).then_some(Initializer::RandomUniform(high))
        }
        "TruncatedNormal" if number("mean") == Some(0.0) => {
            number("stddev").map(Initializer::TruncatedNormal)
        }
        "Orthogonal" | "OrthogonalInitializer" if number("gain").unwrap_or(1.0) != 1.0 => None,
        "VarianceScaling" => {
            let mode = match text("mode")? {
                "fan_in" => Fan::In,
                "fan_out" => Fan::Out,
                "fan_avg" => Fan::Average,
                _ => return None,
            };
            let distribution = match text("distribution")? {
                "uniform" => Distribution::Uniform,
                "truncated_normal" => Distribution::TruncatedNormal,
                _ => return None,
            };
            Some(Initializer::scaled(number("scale")?, mode, distribution))
        }
        class => by_name(class),
    }
}
