//! The operation layers that Keras 3 writes for arithmetic on tensors.

use super::KerasError;
use super::call::{Argument, Call};
use super::config::Object;
use super::fields::Fields;
use plimsoll_model::Layer;
use plimsoll_model::layer::{Activation, Merge, Rescaling};
use serde_json::Value;

/// The layer that computes what an op does.
pub(super) fn build(object: &Object<'_>, fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    let unknown = || {
        fields.problem_with_hint(
            format!("there is no such operation here: {} of {}", object.class, object.module),
            Some("use a layer of keras.layers in its place"),
        )
    };
    match object.class {
        "Add" | "Subtract" | "Multiply" | "TrueDivide" | "Divide" | "Maximum" | "Minimum" => {
            binary(object.class, call).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

fn binary(class: &str, call: &Call<'_>) -> Option<Layer> {
    let number = |argument: &Argument<'_>| match argument {
        Argument::Constant(value) => value.as_f64().map(|number| number as f32),
        _ => None,
    };
    let [first, second] = call.arguments.as_slice() else { return None };
    let layer: Layer = match (class, number(first), number(second)) {
        ("Add", None, None) => Merge::Add.into(),
        ("Subtract", None, None) => Merge::Subtract.into(),
        ("Multiply", None, None) => Merge::Multiply.into(),
        ("Maximum", None, None) => Merge::Maximum.into(),
        ("Minimum", None, None) => Merge::Minimum.into(),
        ("Add", None, Some(c)) | ("Add", Some(c), None) => Rescaling::new(1.0, c).into(),
        ("Subtract", None, Some(c)) => Rescaling::new(1.0, -c).into(),
        ("Subtract", Some(c), None) => Rescaling::new(-1.0, c).into(),
        ("Multiply", None, Some(c)) | ("Multiply", Some(c), None) => Rescaling::new(c, 0.0).into(),
        ("TrueDivide" | "Divide", None, Some(c)) if c != 0.0 => Rescaling::new(1.0 / c, 0.0).into(),
        ("Maximum", None, Some(0.0)) => Activation::Relu.into(),
        _ => return None,
    };
    Some(layer)
}

/// A field of an op that is a number, or nothing.
#[allow(dead_code)]
fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(Value::as_f64)
}
