//! Fully connected layers.

use super::activation;
use crate::keras::fields::{Fields, as_count};
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Dense, EinsumDense};
use serde_json::Value;

pub(super) fn dense(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("lora_rank", &[])?;
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    let dense = Dense {
        units: fields.count("units")?,
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(dense.into())
}

pub(super) fn einsum(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("lora_rank", &[])?;
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    let bias_axes = fields.text("bias_axes", "")?;
    let dense = EinsumDense {
        equation: fields.text("equation", "")?.to_string(),
        output_shape: output_shape(fields)?,
        bias_axes: (!bias_axes.is_empty()).then(|| bias_axes.to_string()),
        activation: activation::read(fields, "activation")?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(dense.into())
}

fn output_shape(fields: &Fields<'_>) -> Result<Vec<Option<usize>>, KerasError> {
    let wrong = || fields.problem("its output_shape is no shape");
    let value = fields.get("output_shape").ok_or_else(wrong)?;
    let axes = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let extent = |axis: &Value| match axis {
        Value::Null => Ok(None),
        known => as_count(known).map(Some).ok_or_else(wrong),
    };
    axes.iter().map(extent).collect()
}
