//! Constraints of weights: what must hold of them after each update.

use super::config::Object;
use super::weight_fields::{self, WeightField};
use super::{KerasError, Weight};
use plimsoll_graph::op::Constraint;
use serde_json::Value;

/// The constraints of all weights that have one, by the weights' names.
pub(super) fn list(config: &Value, weights: &[Weight]) -> Result<Vec<(String, Constraint)>, KerasError> {
    let one = |field: WeightField<'_>| {
        let constraint = read(field.value, field.weight.shape.len()).ok_or_else(|| field.refusal())?;
        Ok((field.weight.name.clone(), constraint))
    };
    weight_fields::list(config, "_constraint", weights).into_iter().map(one).collect()
}

fn read(value: &Value, rank: usize) -> Option<Constraint> {
    let object = Object::read(value).ok()?;
    let number = |key: &str, default: f64| match object.config.get(key) {
        None => Some(default),
        Some(value) => value.as_f64().filter(|number| number.is_finite()),
    };
    let axes = || axes(object.config.get("axis"), rank);
    Some(match object.class {
        "NonNeg" => Constraint::NonNegative,
        "MaxNorm" => Constraint::MaxNorm { limit: number("max_value", 2.0)?, axes: axes()? },
        "UnitNorm" => Constraint::UnitNorm { axes: axes()? },
        "MinMaxNorm" => {
            let (least, most) = (number("min_value", 0.0)?, number("max_value", 1.0)?);
            Constraint::MinMaxNorm { least, most, rate: number("rate", 1.0)?, axes: axes()? }
        }
        _ => return None,
    })
}

/// One axis or several, the first unless it is said otherwise.
fn axes(value: Option<&Value>, rank: usize) -> Option<Vec<usize>> {
    let axis = |value: &Value| {
        let axis = value.as_i64()?;
        let axis = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(axis).ok().filter(|&axis| axis < rank)
    };
    let mut axes = match value {
        None => vec![0],
        Some(Value::Array(list)) => list.iter().map(axis).collect::<Option<Vec<usize>>>()?,
        Some(value) => vec![axis(value)?],
    };
    axes.sort_unstable();
    axes.dedup();
    Some(axes).filter(|axes| !axes.is_empty())
}
