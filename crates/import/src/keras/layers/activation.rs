//! Activation functions, alone and as a setting of other layers.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use crate::keras::initializers;
use plimsoll_model::Layer;
use plimsoll_model::layer::{Activation, PRelu, Relu, Softmax};
use serde_json::Value;

/// A layer that is nothing but an activation.
pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    Ok(match fields.class() {
        "Activation" => read(fields, "activation")?.into(),
        "ReLU" => relu(fields)?,
        "LeakyReLU" => {
            // Keras 2 calls it alpha.
            let slope = fields.number("alpha", 0.3)?;
            Activation::LeakyRelu(fields.number("negative_slope", slope)? as f32).into()
        }
        "ELU" => Activation::Elu(fields.number("alpha", 1.0)? as f32).into(),
        "PReLU" => {
            initializers::fixed(fields, "alpha_initializer", &["zeros"]);
            let shared = fields.integers("shared_axes")?.unwrap_or_default();
            let positive = |&axis: &isize| usize::try_from(axis).ok();
            let shared_axes = shared.iter().map(positive).collect::<Option<Vec<_>>>();
            PRelu { shared_axes: shared_axes.ok_or_else(|| fields.problem("shared_axes below 0"))? }.into()
        }
        _ => softmax(fields)?,
    })
}

/// The activation that is a setting of another layer.
pub(super) fn read(fields: &Fields<'_>, key: &str) -> Result<Activation, KerasError> {
    let Some(value) = fields.get(key) else { return Ok(Activation::Linear) };
    if let Some(layer) = layer_as_function(fields, key, value)? {
        return Ok(layer);
    }
    // Functions are written by name, in some versions inside an object.
    let object = value.get("config").unwrap_or(value);
    let name = object.as_str().or(value.get("class_name").and_then(Value::as_str)).unwrap_or_default();
    Activation::parse(name).ok_or_else(|| {
        let shown = if name.is_empty() { value.to_string() } else { name.to_string() };
        fields.problem(format!("{key}={shown} is not supported"))
    })
}

/// A layer that stands in the place of a function.
fn layer_as_function(
    fields: &Fields<'_>,
    key: &str,
    value: &Value,
) -> Result<Option<Activation>, KerasError> {
    let Some(Value::Object(config)) = value.get("config") else { return Ok(None) };
    let class = value.get("class_name").and_then(Value::as_str).unwrap_or_default();
    let number =
        |name: &str, default: f64| config.get(name).and_then(Value::as_f64).unwrap_or(default) as f32;
    Ok(Some(match class {
        "LeakyReLU" => Activation::LeakyRelu(number("negative_slope", 0.3)),
        "ELU" => Activation::Elu(number("alpha", 1.0)),
        "ReLU" => Activation::Rectifier(Relu {
            max_value: config.get("max_value").and_then(Value::as_f64).map(|x| x as f32),
            negative_slope: number("negative_slope", 0.0),
            threshold: number("threshold", 0.0),
        }),
        "Softmax" if config.get("axis").and_then(Value::as_i64) == Some(-1) => Activation::Softmax,
        "Activation" => {
            let inside = config.get("activation").and_then(Value::as_str).and_then(Activation::parse);
            inside.ok_or_else(|| fields.problem(format!("{key} is an Activation that is not supported")))?
        }
        "PReLU" => {
            return Err(fields.problem_with_hint(
                format!("{key} is a PReLU, which learns, and is not supported there"),
                Some("put it into the model as a layer of its own, after this one"),
            ));
        }
        _ => return Ok(None),
    }))
}

/// The plain forms are activations of their own, as the zoo has them.
fn relu(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let max_value = fields.get("max_value").map(|_| fields.number("max_value", 0.0)).transpose()?;
    let negative_slope = fields.number("negative_slope", 0.0)? as f32;
    let threshold = fields.number("threshold", 0.0)? as f32;
    Ok(match (max_value, negative_slope, threshold) {
        (None, 0.0, 0.0) => Activation::Relu.into(),
        (Some(6.0), 0.0, 0.0) => Activation::Relu6.into(),
        _ => Relu { max_value: max_value.map(|x| x as f32), negative_slope, threshold }.into(),
    })
}

fn softmax(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let axes = fields.integers("axis")?.unwrap_or(vec![-1]);
    match axes.as_slice() {
        &[axis] => Ok(Softmax { axis }.into()),
        _ => Err(fields.problem("a softmax over several axes is not supported")),
    }
}
