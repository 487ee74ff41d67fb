//! Attention.

use crate::keras::call::{Argument, Call};
use crate::keras::config::History;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Attention, MultiHeadAttention, Score};
use serde_json::{Value, json};

/// Keras's `MultiHeadAttention` and `GroupQueryAttention`.
pub(super) fn of_heads(fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    initializers::fixed(fields, "kernel_initializer", &["glorotuniform"]);
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    // Attention runs over the positions, axis 1; Keras writes that when it has seen its input.
    fields.only("attention_axes", &[json!([1])])?;
    // How Keras computes it, not what.
    fields.skip(&["flash_attention", "query_shape", "key_shape", "value_shape"]);
    let output_shape = match fields.get("output_shape") {
        Some(Value::Array(_)) => fields.single("output_shape")?,
        _ => fields.optional_count("output_shape")?,
    };
    let grouped = fields.class() == "GroupQueryAttention";
    let [heads, key_dim] = if grouped { ["num_query_heads", "head_dim"] } else { ["num_heads", "key_dim"] };
    let attention = MultiHeadAttention {
        num_heads: fields.count(heads)?,
        key_dim: fields.count(key_dim)?,
        value_dim: fields.optional_count("value_dim")?,
        dropout: fields.number("dropout", 0.0)? as f32,
        use_bias: fields.flag("use_bias", true)?,
        output_shape,
        use_causal_mask: call.says("use_causal_mask"),
        attention_mask: attention_mask(call).is_some(),
        sliding_window: fields.optional_count("sliding_window")?,
        use_gate: fields.flag("use_gate", false)?,
        return_attention_scores: call.says("return_attention_scores"),
        key_value_heads: if grouped { Some(fields.count("num_key_value_heads")?) } else { None },
    };
    Ok(attention.into())
}

/// Keras's `Attention` and `AdditiveAttention`.
pub(super) fn of_one_head(fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    let additive = fields.class() == "AdditiveAttention";
    let score = match fields.text("score_mode", "dot")? {
        _ if additive => Score::Additive,
        "dot" => Score::Dot,
        "concat" => Score::Concat,
        other => return Err(fields.problem(format!("score_mode={other} is not supported"))),
    };
    let attention = Attention {
        score,
        use_scale: fields.flag("use_scale", additive)?,
        dropout: fields.number("dropout", 0.0)? as f32,
        use_causal_mask: call.says("use_causal_mask"),
        return_attention_scores: call.says("return_attention_scores"),
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
pub(super) fn takes(class: &str, name: &str, constant: Option<&Value>) -> bool {
    let heads = matches!(class, "MultiHeadAttention" | "GroupQueryAttention");
    let attends = heads || matches!(class, "Attention" | "AdditiveAttention");
    match name {
        "query" | "value" | "key" | "attention_mask" => heads && constant.is_none(),
        "use_causal_mask" | "return_attention_scores" => attends && constant.is_some_and(Value::is_boolean),
        _ => false,
    }
}
