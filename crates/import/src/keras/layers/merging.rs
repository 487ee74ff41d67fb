//! Layers that make one value of several.

use crate::keras::KerasError;
use crate::keras::fields::Fields;
use plimsoll_model::Layer;
use plimsoll_model::layer::{Concatenate, Dot, Merge};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    Ok(match fields.class() {
        "Add" => Merge::Add.into(),
        "Subtract" => Merge::Subtract.into(),
        "Multiply" => Merge::Multiply.into(),
        "Average" => Merge::Average.into(),
        "Maximum" => Merge::Maximum.into(),
        "Minimum" => Merge::Minimum.into(),
        "Concatenate" => Concatenate { axis: fields.integer("axis")?.unwrap_or(-1) }.into(),
        _ => dot(fields)?,
    })
}

fn dot(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let axes = match fields.integers("axes")?.as_deref() {
        Some(&[one]) => [one; 2],
        Some(&[first, second]) => [first, second],
        _ => return Err(fields.problem("`axes` is not one or two axes")),
    };
    Ok(Dot { axes, normalize: fields.flag("normalize", false)? }.into())
}
