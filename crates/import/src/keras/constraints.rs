//! Constraints of weights: what must hold of them after each update.

use super::config::{LayerConfig, Object};
use super::fields::shortened;
use super::{KerasError, Weight};
use plimsoll_graph::op::Constraint;
use serde_json::{Map, Value};

/// The constraints of all weights that have one, by the weights' names.
pub(super) fn list(config: &Value, weights: &[Weight]) -> Result<Vec<(String, Constraint)>, KerasError> {
    let mut found = Vec::new();
    if let Ok(object) = Object::read(config) {
        add_model(&object, "", weights, &mut found)?;
    }
    Ok(found)
}

fn add_model(
    object: &Object<'_>,
    prefix: &str,
    weights: &[Weight],
    found: &mut Vec<(String, Constraint)>,
) -> Result<(), KerasError> {
    for layer in object.layers()? {
        let path = format!("{prefix}{}", layer.name);
        if layer.object.is_model() {
            add_model(&layer.object, &format!("{path}/"), weights, found)?;
            continue;
        }
        // A wrapper has the fields of the layer inside it.
        let inner = ["layer", "backward_layer"].map(|key| layer.object.config.get(key));
        let inner = inner.into_iter().flatten().filter_map(|inner| inner.get("config")?.as_object());
        for config in [layer.object.config].into_iter().chain(inner) {
            add_layer(&layer, &path, config, weights, found)?;
        }
    }
    Ok(())
}

fn add_layer(
    layer: &LayerConfig<'_>,
    path: &str,
    config: &Map<String, Value>,
    weights: &[Weight],
    found: &mut Vec<(String, Constraint)>,
) -> Result<(), KerasError> {
    for (key, value) in config.iter().filter(|(_, value)| !value.is_null()) {
        let Some(what) = key.strip_suffix("_constraint") else { continue };
        let problem = |problem: String| KerasError::Layer {
            path: path.to_string(),
            class: layer.object.class.to_string(),
            problem,
            hint: None,
        };
        let begins = format!("{path}/");
        let own = weights.iter().filter(|weight| weight.name.starts_with(&begins) && is(&weight.name, what));
        for weight in own {
            let unknown = || problem(format!("{key}={} is not supported", shortened(value)));
            let constraint = read(value, weight.shape.len()).ok_or_else(unknown)?;
            if !found.iter().any(|(name, _)| *name == weight.name) {
                found.push((weight.name.clone(), constraint));
            }
        }
    }
    Ok(())
}

/// Whether a weight is what a field of a layer is about.
fn is(weight: &str, what: &str) -> bool {
    let name = weight.rsplit('/').next().unwrap_or_default();
    match what {
        "recurrent" | "depthwise" | "pointwise" => {
            name == format!("{what}_kernel") || (what == "depthwise" && name == "kernel")
        }
        _ => name == what,
    }
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
