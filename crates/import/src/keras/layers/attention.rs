//! Multi-head attention.

use crate::keras::call::{Argument, Call};
use crate::keras::config::History;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::MultiHeadAttention;
use serde_json::{Value, json};

pub(super) fn build(fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    initializers::fixed(fields, "kernel_initializer", &["glorotuniform"]);
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    // Attention runs over the positions, axis 1; Keras writes that when it has seen its input.
    fields.only("attention_axes", &[json!([1])])?;
    fields.only("use_gate", &[json!(false)])?;
    fields.only("sliding_window", &[])?;
    // How Keras computes it, not what.
    fields.skip(&["flash_attention", "query_shape", "key_shape", "value_shape"]);
    let output_shape = match fields.get("output_shape") {
        Some(Value::Array(_)) => fields.single("output_shape")?,
        _ => fields.optional_count("output_shape")?,
    };
    let attention = MultiHeadAttention {
        num_heads: fields.count("num_heads")?,
        key_dim: fields.count("key_dim")?,
        value_dim: fields.optional_count("value_dim")?,
        dropout: fields.number("dropout", 0.0)? as f32,
        use_bias: fields.flag("use_bias", true)?,
        output_shape,
        use_causal_mask: is_causal(call),
        attention_mask: attention_mask(call).is_some(),
    };
    Ok(attention.into())
}

/// Query, value and key, by position or by name.
pub(super) fn reads<'a>(call: &Call<'a>) -> Vec<History<'a>> {
    let argument = |position: usize, name: &str| {
        let named = call.named.iter().find(|(named, _)| *named == name).map(|(_, argument)| argument);
        match call.arguments.get(position).or(named) {
            Some(Argument::Tensor(history)) => Some(history.clone()),
            _ => None,
        }
    };
    let names = ["query", "value", "key"].iter().enumerate();
    names.filter_map(|(at, name)| argument(at, name)).chain(attention_mask(call)).collect()
}

/// What says which queries see which keys, if it is given.
fn attention_mask<'a>(call: &Call<'a>) -> Option<History<'a>> {
    call.named.iter().find_map(|(name, argument)| match argument {
        Argument::Tensor(history) if *name == "attention_mask" => Some(history.clone()),
        _ => None,
    })
}

/// Whether an argument by name is one that is understood.
pub(super) fn takes(name: &str, constant: Option<&Value>) -> bool {
    match name {
        "query" | "value" | "key" | "attention_mask" => constant.is_none(),
        "use_causal_mask" => constant.is_some_and(Value::is_boolean),
        _ => false,
    }
}

fn is_causal(call: &Call<'_>) -> bool {
    let causal = |(name, argument): &(&str, Argument<'_>)| {
        *name == "use_causal_mask" && matches!(argument, Argument::Constant(Value::Bool(true)))
    };
    call.named.iter().any(causal)
}
