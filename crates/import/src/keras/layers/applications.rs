//! Layers that only models of `keras.applications` have.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_model::Layer;
use plimsoll_model::layer::{LayerScale, StochasticDepth};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    match fields.class() {
        "LayerScale" => {
            let init_values = fields.number("init_values", 1e-6)? as f32;
            Ok(LayerScale { init_values, projection_dim: fields.count("projection_dim")? }.into())
        }
        "StochasticDepth" => {
            let rate = fields.number("drop_path_rate", 0.0)?;
            Ok(StochasticDepth { drop_path_rate: rate as f32 }.into())
        }
        _ => Err(fields.problem("it is not supported yet")),
    }
}
