//! Layers that bring values to a known range.

use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{
    BatchNormalization, GroupNormalization, LayerNormalization, Normalization, Rescaling, RmsNormalization,
    UnitNormalization,
};
use serde_json::{Value, json};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    initializers::fixed(fields, "beta_initializer", &["zeros"]);
    initializers::fixed(fields, "gamma_initializer", &["ones"]);
    match fields.class() {
        "BatchNormalization" => batch(fields),
        "LayerNormalization" => layer(fields),
        "RMSNormalization" => {
            let axis = fields.integers("axis")?.unwrap_or(vec![-1]);
            Ok(RmsNormalization { axis, epsilon: fields.number("epsilon", 1e-6)? as f32 }.into())
        }
        "GroupNormalization" => group(fields),
        "UnitNormalization" => {
            Ok(UnitNormalization { axis: fields.integers("axis")?.unwrap_or(vec![-1]) }.into())
        }
        "Normalization" => given(fields),
        _ => rescaling(fields),
    }
}

fn batch(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    initializers::fixed(fields, "moving_mean_initializer", &["zeros"]);
    initializers::fixed(fields, "moving_variance_initializer", &["ones"]);
    fields.only("synchronized", &[json!(false)])?;
    fields.only("renorm", &[json!(false)])?;
    fields.only("virtual_batch_size", &[])?;
    fields.skip(&["renorm_clipping", "renorm_momentum", "fused"]);
    let axis = fields.integers("axis")?.unwrap_or(vec![-1]);
    let &[axis] = axis.as_slice() else { return Err(fields.problem("it normalizes over several axes")) };
    let norm = BatchNormalization {
        axis,
        momentum: fields.number("momentum", 0.99)? as f32,
        epsilon: fields.number("epsilon", 1e-3)? as f32,
        center: fields.flag("center", true)?,
        scale: fields.flag("scale", true)?,
    };
    Ok(norm.into())
}

fn layer(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let norm = LayerNormalization {
        axis: fields.integers("axis")?.unwrap_or(vec![-1]),
        epsilon: fields.number("epsilon", 1e-3)? as f32,
        center: fields.flag("center", true)?,
        scale: fields.flag("scale", true)?,
        rms_scaling: fields.flag("rms_scaling", false)?,
    };
    Ok(norm.into())
}

fn group(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let norm = GroupNormalization {
        groups: fields.integer("groups")?.unwrap_or(32),
        axis: fields.integer("axis")?.unwrap_or(-1),
        epsilon: fields.number("epsilon", 1e-3)? as f32,
        center: fields.flag("center", true)?,
        scale: fields.flag("scale", true)?,
    };
    Ok(norm.into())
}

fn given(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let norm = Normalization {
        // An axis that is null means one mean for all.
        axis: fields.integers("axis")?.unwrap_or_default(),
        mean: numbers(fields, "mean")?,
        variance: numbers(fields, "variance")?,
        invert: fields.flag("invert", false)?,
    };
    Ok(norm.into())
}

fn rescaling(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let scale = numbers(fields, "scale")?.ok_or_else(|| fields.problem("`scale` is missing"))?;
    Ok(Rescaling { scale, offset: numbers(fields, "offset")?.unwrap_or(vec![0.0]) }.into())
}

/// Numbers in lists, however deep, or one alone.
fn numbers(fields: &Fields<'_>, key: &str) -> Result<Option<Vec<f32>>, KerasError> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    let mut numbers = Vec::new();
    match flatten(value, &mut numbers, 8) && !numbers.is_empty() {
        true => Ok(Some(numbers)),
        false => Err(fields.problem(format!("`{key}` is no list of numbers"))),
    }
}

fn flatten(value: &Value, numbers: &mut Vec<f32>, depth: usize) -> bool {
    match (value, depth) {
        (Value::Array(list), 1..) => list.iter().all(|one| flatten(one, numbers, depth - 1)),
        _ => {
            let number = value.as_f64().filter(|number| number.is_finite());
            numbers.extend(number.map(|number| number as f32));
            number.is_some()
        }
    }
}
