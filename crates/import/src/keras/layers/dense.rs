//! Fully connected layers.

use super::activation;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::Dense;
use serde_json::json;

pub(super) fn dense(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("lora_rank", &[])?;
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    let dense = Dense {
        units: fields.count("units")?,
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    fields.only("lora_alpha", &[json!(null)])?;
    Ok(dense.into())
}

pub(super) fn einsum(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    Err(fields.problem("it is not supported yet"))
}
