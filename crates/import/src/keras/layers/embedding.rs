//! Tables of vectors.

use crate::keras::call::Call;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Embedding, ReversibleEmbedding};
use serde_json::{Value, json};

pub(super) fn build(fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    fields.only("lora_rank", &[])?;
    // `input_length` only says how long the ids of Keras 2's models are.
    fields.skip(&["input_length"]);
    initializers::fixed(fields, "embeddings_initializer", &["randomuniform", "uniform"]);
    let (input_dim, output_dim) = (fields.count("input_dim")?, fields.count("output_dim")?);
    let embedding = Embedding { input_dim, output_dim, mask_zero: fields.flag("mask_zero", false)? };
    if fields.class() == "Embedding" {
        return Ok(embedding.into());
    }
    fields.only("reverse_dtype", &[json!("float32")])?;
    let cap = fields.number("logit_soft_cap", 0.0)? as f32;
    let reversible = ReversibleEmbedding {
        embedding,
        tie_weights: fields.flag("tie_weights", true)?,
        logit_soft_cap: Some(cap).filter(|&cap| cap != 0.0),
        reverse: call.says("reverse"),
    };
    Ok(reversible.into())
}

/// Whether an argument by name is one that is understood.
pub(super) fn takes(class: &str, name: &str, constant: Option<&Value>) -> bool {
    class == "ReversibleEmbedding" && name == "reverse" && constant.is_some_and(Value::is_boolean)
}
