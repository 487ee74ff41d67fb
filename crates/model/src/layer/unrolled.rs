//! Recurrence step by step: for what no op computes in one go.
//!
//! Every step adds its own ops to the graph, so there are as many as the sequence is long.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Concat, Fill, Slice, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

/// Sequences that are longer than this are not taken apart.
const LONGEST: usize = 4096;

/// Where a recurrent layer begins and what it gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction {
    /// Whether time runs from the last position to the first.
    pub(super) reverse: bool,
    /// Whether the result is the state at every position rather than the last one.
    pub(super) sequences: bool,
}

/// Runs a step at every position. A step gets what it sees of the position, `[batch, features]`, and the states,
/// `[batch, units]` each, and gives the new states, the first of which is the result. Where the mask is 0 the states
/// stay as they are.
pub(super) fn unroll<const N: usize>(
    at: &mut Context<'_>,
    x: Signal,
    units: usize,
    direction: Direction,
    mut step: impl FnMut(&mut Context<'_>, ValueId, [ValueId; N]) -> Result<[ValueId; N], ShapeError>,
) -> Lowered {
    let positions = positions(at, x.value)?;
    let masks = x.mask.map(|mask| mask_positions(at, mask)).transpose()?;
    let batch = at.shape(x.value)[0];
    let zeros = at.op(Fill { shape: [batch, units].into(), value: 0.0 }, &[])?;
    let mut states = [zeros; N];
    let mut results = vec![zeros; positions.len()];
    let order: Vec<usize> = match direction.reverse {
        true => (0..positions.len()).rev().collect(),
        false => (0..positions.len()).collect(),
    };
    for position in order {
        let mut after = step(at, positions[position], states)?;
        if let Some(masks) = &masks {
            for (after, before) in after.iter_mut().zip(states) {
                *after = chosen(at, masks[position], *after, before)?;
            }
        }
        states = after;
        results[position] = states[0];
    }
    match direction.sequences {
        true => Ok(x.with(joined(at, &results)?)),
        false => {
            // Keras's loop copies what a step gives.
            at.forget_logits(states[0]);
            Ok(Signal::bare(states[0]))
        }
    }
}

/// `[batch, length, features]` in the opposite order of positions.
pub(super) fn reversed(at: &mut Context<'_>, sequence: ValueId) -> Result<ValueId, ShapeError> {
    let mut positions = positions(at, sequence)?;
    positions.reverse();
    joined(at, &positions)
}

/// `before + mask (after - before)`
fn chosen(
    at: &mut Context<'_>,
    mask: ValueId,
    after: ValueId,
    before: ValueId,
) -> Result<ValueId, ShapeError> {
    let kept = at.op(Binary::Multiply, &[after, mask])?;
    let turned = at.op(Unary::Negate, &[mask])?;
    let rest = at.op(Unary::AddScalar(1.0), &[turned])?;
    let carried = at.op(Binary::Multiply, &[before, rest])?;
    at.op(Binary::Add, &[kept, carried])
}

/// `[batch, features]` for each position of `[batch, length, features]`.
fn positions(at: &mut Context<'_>, sequence: ValueId) -> Result<Vec<ValueId>, ShapeError> {
    let [batch, length, features] = at.extents(sequence)?;
    if length > LONGEST {
        let problem = format!("with these settings it takes sequences of at most {LONGEST} positions");
        return Err(at.refusal(&[sequence], problem));
    }
    let cut = |position: usize| {
        let slice = Slice { start: vec![0, position, 0], size: vec![batch, 1, features] };
        let cut = at.op(slice, &[sequence])?;
        at.reshaped(cut, [batch, features])
    };
    (0..length).map(cut).collect()
}

/// `[batch, 1]` for each position of `[batch, length]`.
fn mask_positions(at: &mut Context<'_>, mask: ValueId) -> Result<Vec<ValueId>, ShapeError> {
    let [batch, length] = at.extents(mask)?;
    let cut = |position: usize| at.op(Slice { start: vec![0, position], size: vec![batch, 1] }, &[mask]);
    (0..length).map(cut).collect()
}

fn joined(at: &mut Context<'_>, positions: &[ValueId]) -> Result<ValueId, ShapeError> {
    let [batch, features] = at.extents(positions[0])?;
    let mut parts = Vec::with_capacity(positions.len());
    for &position in positions {
        parts.push(at.reshaped(position, Shape::new([batch, 1, features]))?);
    }
    at.op(Concat { axis: 1 }, &parts)
}
