//! Gradients that are sums of rows: those of tables that are only looked up.
//!
//! Keras on TensorFlow leaves such a gradient as the rows it consists of. Where an id occurs twice in a batch, its rows
//! are added for everything linear, but squared, or taken as absolute values, one by one.

use crate::{Clip, Descent};
use plimsoll_graph::op::{Binary, EmbeddingGradient, Magnitude, Unary};
use plimsoll_graph::{Graph, LayerId, OpKind, Phase, ShapeError, Site, Source, ValueId};

/// Sums over the rows of a gradient, of the parameter's shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Of their squares.
    pub(crate) squares: Option<ValueId>,
    /// Of their absolute values.
    pub(crate) absolutes: Option<ValueId>,
}

/// A gradient with what is known of its rows.
pub(crate) struct OfRows {
    pub(crate) gradient: ValueId,
    pub(crate) rows: Rows,
    /// Whether each row was clipped by itself.
    pub(crate) clipped: bool,
}

/// Appends the sums that an optimizer wants to know of a gradient, if it is a sum of rows. `limit` is the most that an
/// element of a row may count for.
pub(crate) fn find_rows(
    graph: &mut Graph,
    descent: &Descent,
    parameter: ValueId,
    gradient: ValueId,
    limit: Option<ValueId>,
) -> Result<OfRows, ShapeError> {
    let none = OfRows { gradient, rows: Rows::default(), clipped: false };
    // What is added up over steps is one tensor.
    if descent.settings.every() > 1 {
        return Ok(none);
    }
    let Some(mut lookups) = lookups(graph, gradient) else { return Ok(none) };
    let mut gradient = gradient;
    if let Some(limit) = limit {
        for (_, [_, rows]) in &mut lookups {
            *rows = clipped(graph, *rows, limit)?;
        }
        gradient = add_sum(graph, &lookups, None)?;
    }
    let wanted = wanted(graph, descent, parameter);
    let mut sum = |wanted: bool, function: Unary| match wanted {
        true => add_sum(graph, &lookups, Some(function)).map(Some),
        false => Ok(None),
    };
    let rows = Rows { squares: sum(wanted[0], Unary::Square)?, absolutes: sum(wanted[1], Unary::Abs)? };
    Ok(OfRows { gradient, rows, clipped: limit.is_some() })
}

/// Each element of rows within a limit.
fn clipped(graph: &mut Graph, rows: ValueId, limit: ValueId) -> Result<ValueId, ShapeError> {
    let site = Site { layer: layer(graph, rows), phase: Phase::Backward };
    let least = graph.add_single(Unary::Negate.into(), &[limit], site)?;
    let below = graph.add_single(Binary::Minimum.into(), &[rows, limit], site)?;
    graph.add_single(Binary::Maximum.into(), &[below, least], site)
}

/// Whether squares and absolute values are asked for.
fn wanted(graph: &Graph, descent: &Descent, parameter: ValueId) -> [bool; 2] {
    let (value, settings) = (graph.value(parameter), &descent.settings);
    let norms = matches!(settings.clip, Some(Clip::Norm(_) | Clip::GlobalNorm(_)));
    let apart = !matches!(settings.clip, Some(Clip::GlobalNorm(_)));
    let follow = descent.optimizer.follow(&value.tensor.shape, descent.left_to_adam(&value.name));
    let asks = |magnitude: Magnitude| apart && follow.rule.magnitude() == Some(magnitude);
    [norms || asks(Magnitude::Squares), asks(Magnitude::Absolutes)]
}

fn layer(graph: &Graph, value: ValueId) -> Option<LayerId> {
    match graph.value(value).source {
        Source::Op(op) => graph.op(op).layer,
        Source::Input | Source::Persistent(_) => None,
    }
}

/// The ids and gradients of all lookups, if a gradient comes from nothing else.
fn lookups(graph: &Graph, gradient: ValueId) -> Option<Vec<(EmbeddingGradient, [ValueId; 2])>> {
    let Source::Op(id) = graph.value(gradient).source else { return None };
    let op = graph.op(id);
    if let OpKind::EmbeddingGradient(kind) = &op.kind {
        return Some(vec![(*kind, [op.inputs[0], op.inputs[1]])]);
    }
    match op.kind == OpKind::Binary(Binary::Add) {
        true => Some([lookups(graph, op.inputs[0])?, lookups(graph, op.inputs[1])?].concat()),
        false => None,
    }
}

fn add_sum(
    graph: &mut Graph,
    lookups: &[(EmbeddingGradient, [ValueId; 2])],
    function: Option<Unary>,
) -> Result<ValueId, ShapeError> {
    let mut sum = None;
    for (kind, [ids, rows]) in lookups {
        let site = Site { layer: layer(graph, *rows), phase: Phase::Backward };
        let each = match function {
            Some(function) => graph.add_single(function.into(), &[*rows], site)?,
            None => *rows,
        };
        let one = graph.add_single((*kind).into(), &[*ids, each], site)?;
        sum = Some(match sum {
            None => one,
            Some(sum) => graph.add_single(Binary::Add.into(), &[sum, one], site)?,
        });
    }
    Ok(sum.expect("a gradient comes from something"))
}
