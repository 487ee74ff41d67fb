//! Tables of vectors.

use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::Embedding;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("lora_rank", &[])?;
    // `input_length` only says how long the ids of Keras 2's models are.
    fields.skip(&["input_length"]);
    initializers::fixed(fields, "embeddings_initializer", &["randomuniform", "uniform"]);
    let (input_dim, output_dim) = (fields.count("input_dim")?, fields.count("output_dim")?);
    Ok(Embedding { input_dim, output_dim, mask_zero: fields.flag("mask_zero", false)? }.into())
}
