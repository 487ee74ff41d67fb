//! Masks in files: Keras writes down which mask a layer is called with, and the ops that make it.

use super::call::{Argument, Call};
use super::config::{History, Object};
use super::fields::Fields;
use super::{KerasError, layers};
use plimsoll_model::Layer;
use plimsoll_model::layer::MaskOperation;
use serde_json::Value;

/// The masks that a call names, by the positions of what it reads.
pub(super) fn said<'a>(object: &Object<'_>, call: &Call<'a>) -> Vec<Option<History<'a>>> {
    let named =
        |wanted: &str| call.named.iter().find(|(name, _)| *name == wanted).map(|(_, argument)| argument);
    // Keras looks at the mask of the query itself, whatever it is told.
    let masks: Vec<Option<History<'a>>> = match object.class {
        "MultiHeadAttention" => {
            vec![None, named("value_mask").and_then(tensor), named("key_mask").and_then(tensor)]
        }
        "GroupQueryAttention" => {
            ["query_mask", "value_mask", "key_mask"].map(|name| named(name).and_then(tensor)).to_vec()
        }
        // What has no mask in this list has none.
        "Attention" | "AdditiveAttention" => match named("mask") {
            Some(Argument::List(list)) => return list.iter().map(tensor).collect(),
            Some(Argument::Constant(Value::Array(list))) => return vec![None; list.len()],
            _ => Vec::new(),
        },
        _ => match named("mask") {
            Some(Argument::List(list)) => list.iter().map(tensor).collect(),
            Some(one) => vec![tensor(one)],
            None => Vec::new(),
        },
    };
    let used = masks.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    masks.into_iter().take(used).collect()
}

/// The layer for an op that makes a mask, if it is one of those that Keras makes masks of.
pub(super) fn build(
    object: &Object<'_>,
    fields: &Fields<'_>,
    call: &Call<'_>,
) -> Result<Option<Layer>, KerasError> {
    if !layers::is_operation(object) {
        return Ok(None);
    }
    let tensors = call.tensors().len();
    let operation = match (object.class, tensors) {
        ("NotEqual", 1) => number(call).map(MaskOperation::NotEqual),
        ("LogicalOr", 2) => Some(MaskOperation::LogicalOr),
        ("LogicalAnd", 2) => Some(MaskOperation::LogicalAnd),
        ("Any", 1) => match fields.integers("axis")?.as_deref() {
            Some(&[axis]) => Some(MaskOperation::Any { axis, keepdims: fields.flag("keepdims", false)? }),
            _ => None,
        },
        ("OnesLike", 1) => Some(MaskOperation::Like(1.0)),
        ("ZerosLike", 1) => Some(MaskOperation::Like(0.0)),
        _ => None,
    };
    if operation.is_some() {
        fields.skip(&["dtype"]);
    }
    Ok(operation.map(Layer::from))
}

fn tensor<'a>(argument: &Argument<'a>) -> Option<History<'a>> {
    match argument {
        Argument::Tensor(history) => Some(history.clone()),
        Argument::List(_) | Argument::Keyed(_) | Argument::Constant(_) => None,
    }
}

/// The only number that a call is given.
fn number(call: &Call<'_>) -> Option<f32> {
    let given = call.arguments.iter().chain(call.named.iter().map(|(_, argument)| argument));
    let mut constants = given.filter_map(|argument| match argument {
        Argument::Constant(value) => Some(*value),
        Argument::Tensor(_) | Argument::List(_) | Argument::Keyed(_) => None,
    });
    let number = constants.next().and_then(Value::as_f64).map(|number| number as f32);
    number.filter(|_| constants.next().is_none())
}
