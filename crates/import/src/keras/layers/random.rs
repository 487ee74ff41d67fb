//! Layers that do something only in training, by chance.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_model::Layer;
use plimsoll_model::layer::{AlphaDropout, Dropout, GaussianDropout, GaussianNoise};
use serde_json::Value;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    match fields.class() {
        "Dropout" => {
            let noise_shape = noise_shape(fields)?;
            Ok(Dropout { rate: rate(fields)?, noise_shape }.into())
        }
        "AlphaDropout" => {
            let noise_shape = noise_shape(fields)?;
            Ok(AlphaDropout { rate: rate(fields)?, noise_shape }.into())
        }
        "SpatialDropout1D" => Ok(Dropout::spatial1d(rate(fields)?).into()),
        "SpatialDropout3D" => Ok(Dropout::spatial3d(rate(fields)?).into()),
        "SpatialDropout2D" => Ok(Dropout::spatial2d(rate(fields)?).into()),
        "GaussianDropout" => Ok(GaussianDropout { rate: rate(fields)? }.into()),
        _ => Ok(GaussianNoise { stddev: fields.number("stddev", 0.0)? as f32 }.into()),
    }
}

fn rate(fields: &Fields<'_>) -> Result<f32, KerasError> {
    let rate = fields.number("rate", 0.5)?;
    let wrong = || fields.problem(format!("the rate {rate} is not in [0, 1)"));
    if (0.0..1.0).contains(&rate) { Ok(rate as f32) } else { Err(wrong()) }
}

fn noise_shape(fields: &Fields<'_>) -> Result<Option<Vec<Option<usize>>>, KerasError> {
    let Some(value) = fields.get("noise_shape") else { return Ok(None) };
    let extent = |axis: &Value| match axis {
        Value::Null => Some(None),
        known => known.as_u64().filter(|&extent| extent < 1 << 32).map(|extent| Some(extent as usize)),
    };
    let shape = value.as_array().and_then(|axes| axes.iter().map(extent).collect());
    shape.map(Some).ok_or_else(|| fields.problem(format!("noise_shape={value} is no shape")))
}
