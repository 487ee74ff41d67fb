//! Regularizers: what weights and the results of layers add to the loss.

use super::config::Object;
use super::fields::{Fields, shortened};
use super::weight_fields::{self, WeightField};
use super::{KerasError, Weight};
use plimsoll_model::{Penalized, Penalty, Regularizer};
use serde_json::Value;

/// The penalties of all weights that are trained and have one.
pub(super) fn list(config: &Value, weights: &[Weight]) -> Result<Vec<Penalty>, KerasError> {
    let one = |field: WeightField<'_>| {
        let regularizer = read(field.value).filter(|one| fits(one, field.weight));
        let regularizer = regularizer.ok_or_else(|| field.refusal())?;
        Ok(Penalty { of: Penalized::Weight(field.weight.name.clone()), regularizer })
    };
    let fields = weight_fields::list(config, "_regularizer", weights).into_iter();
    fields.filter(|field| field.weight.learned).map(one).collect()
}

/// What each result of a layer adds to the loss, if it does.
pub(super) fn of_results(
    object: &Object<'_>,
    fields: &Fields<'_>,
) -> Result<Option<Regularizer>, KerasError> {
    let refused =
        |what: &str| Err(fields.problem(format!("an activity_regularizer {what} is not supported")));
    let own = regularizer(object, fields)?;
    let found = match object.class {
        "ActivityRegularization" => {
            let (l1, l2) = (fields.number("l1", 0.0)?, fields.number("l2", 0.0)?);
            Some(Regularizer::Norms { l1, l2 })
        }
        "MultiHeadAttention" | "GroupQueryAttention" if own.is_some() => {
            return refused("of attention, which Keras gives to the layers inside it,");
        }
        "Bidirectional" => of_both(object, fields, own)?,
        // Keras does not call the layer inside as a layer, so that what it says of itself is not looked at.
        "TimeDistributed" if inner(object, "layer").is_some_and(|layer| says_inside(&layer)) => {
            return refused("of a layer in a wrapper at every position");
        }
        "RNN" if says_inside(object) => return refused("of a cell"),
        _ => own,
    };
    match found {
        Some(Regularizer::Orthogonal { .. }) => refused("that is orthogonal"),
        found => Ok(found),
    }
}

/// Of two directions: each result of either, which joined are what the wrapper gives.
fn of_both(
    object: &Object<'_>,
    fields: &Fields<'_>,
    own: Option<Regularizer>,
) -> Result<Option<Regularizer>, KerasError> {
    let of = |key: &str| inner(object, key).map(|layer| regularizer(&layer, fields)).transpose();
    let forward = of("layer")?.flatten();
    let backward = of("backward_layer")?.unwrap_or(forward);
    let joined = matches!(object.config.get("merge_mode").and_then(Value::as_str), None | Some("concat"));
    match (own, forward) {
        (own, None) if backward.is_none() => Ok(own),
        (None, forward) if forward == backward && joined => Ok(forward),
        _ => Err(fields.problem(
            "an activity_regularizer of one direction alone, of directions that are not joined, or of a wrapper and \
             what it wraps is not supported",
        )),
    }
}

/// Whether something inside a layer has a regularizer of what it gives.
fn says_inside(object: &Object<'_>) -> bool {
    let cells = object.config.get("cells").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let inside = ["layer", "backward_layer", "cell"].into_iter().filter_map(|key| inner(object, key));
    let mut inside = inside.chain(cells.iter().filter_map(|cell| Object::read(cell).ok()));
    let set = |one: &Object<'_>| one.config.get("activity_regularizer").is_some_and(|value| !value.is_null());
    inside.any(|one| set(&one) || says_inside(&one))
}

fn inner<'a>(object: &Object<'a>, key: &str) -> Option<Object<'a>> {
    object.config.get(key).and_then(|value| Object::read(value).ok()).filter(|inner| !inner.is_model())
}

fn regularizer(object: &Object<'_>, fields: &Fields<'_>) -> Result<Option<Regularizer>, KerasError> {
    let value = object.config.get("activity_regularizer").filter(|value| !value.is_null());
    // Keras's SimpleRNN forgets it.
    let Some(value) = value.filter(|_| object.class != "SimpleRNN") else { return Ok(None) };
    let unknown = || fields.problem(format!("activity_regularizer={} is not supported", shortened(value)));
    read(value).map(Some).ok_or_else(unknown)
}

/// An orthogonal regularizer takes matrices of more than one vector.
fn fits(regularizer: &Regularizer, weight: &Weight) -> bool {
    match (regularizer, &weight.shape[..]) {
        (Regularizer::Norms { .. }, _) => true,
        (Regularizer::Orthogonal { columns: false, .. }, [vectors, _])
        | (Regularizer::Orthogonal { columns: true, .. }, [_, vectors]) => *vectors > 1,
        (Regularizer::Orthogonal { .. }, _) => false,
    }
}

/// A regularizer by its name, or as an object with its settings.
fn read(value: &Value) -> Option<Regularizer> {
    let object = Object::read(value).ok();
    let class = object.as_ref().map(|object| object.class).or(value.as_str())?;
    let field = |key: &str| object.as_ref().and_then(|object| object.config.get(key));
    let factor = |key: &str, default: f64| match field(key) {
        None | Some(Value::Null) => Some(default),
        Some(value) => value.as_f64().filter(|factor| factor.is_finite() && *factor >= 0.0),
    };
    Some(match class {
        "L1" | "l1" => Regularizer::Norms { l1: factor("l1", 0.01)?, l2: 0.0 },
        "L2" | "l2" => Regularizer::Norms { l1: 0.0, l2: factor("l2", 0.01)? },
        "L1L2" | "l1_l2" | "l1l2" => Regularizer::Norms { l1: factor("l1", 0.0)?, l2: factor("l2", 0.0)? },
        "OrthogonalRegularizer" | "orthogonal_regularizer" => {
            let mode = field("mode").map_or(Some("rows"), Value::as_str)?;
            let columns = matches!(mode, "columns");
            Regularizer::Orthogonal { factor: factor("factor", 0.01)?, columns }
        }
        _ => return None,
    })
}
