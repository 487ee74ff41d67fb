//! Layers that only change shapes.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_model::Layer;
use plimsoll_model::layer::{Flatten, Permute, RepeatVector, Reshape};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let missing = |key: &str| fields.problem(format!("`{key}` is missing"));
    Ok(match fields.class() {
        "Flatten" => Flatten {}.into(),
        "Reshape" => {
            let target_shape = fields.integers("target_shape")?.ok_or_else(|| missing("target_shape"))?;
            Reshape { target_shape }.into()
        }
        "Permute" => {
            let dims = fields.integers("dims")?.ok_or_else(|| missing("dims"))?;
            let dims: Result<Vec<usize>, _> = dims.into_iter().map(usize::try_from).collect();
            Permute { dims: dims.map_err(|_| fields.problem("dims below 0"))? }.into()
        }
        _ => RepeatVector { n: fields.count("n")? }.into(),
    })
}
