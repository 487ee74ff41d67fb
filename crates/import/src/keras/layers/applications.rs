//! Layers that only models of `keras.applications` have.

use super::read_common;
use crate::keras::KerasError;
use crate::keras::config::Object;
use crate::keras::fields::Fields;
use plimsoll_model::Layer;
use plimsoll_model::layer::{LayerScale, StochasticDepth};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    if fields.class() == "LayerScale" {
        let init_values = fields.number("init_values", 1e-6)? as f32;
        return Ok(LayerScale { init_values, projection_dim: fields.count("projection_dim")? }.into());
    }
    Ok(StochasticDepth { drop_path_rate: fields.number("drop_path_rate", 0.0)? as f32 }.into())
}

/// The factor by which InceptionResNetV2 multiplies the second of two values before it adds them.
pub(in crate::keras) fn scale_of_sum(
    object: &Object<'_>,
    fields: &Fields<'_>,
) -> Result<Option<f32>, KerasError> {
    if object.class != "CustomScaleLayer" || !object.module.starts_with("keras.src.applications") {
        return Ok(None);
    }
    read_common(fields)?;
    let scale = fields.number("scale", 1.0)? as f32;
    fields.finish()?;
    Ok(Some(scale))
}
