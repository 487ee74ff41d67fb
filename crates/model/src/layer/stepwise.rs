//! Recurrence step by step with states of any shape, that may be given and are given back.
//!
//! Every step adds its own ops to the graph, so there are as many as the sequence is long.

use super::begun::Begun;
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Concat, Fill, Slice, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

/// Sequences that are longer than this are not taken apart.
const LONGEST: usize = 4096;

/// How a sequence is gone through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Whether time runs from the last position to the first.
    pub(super) reverse: bool,
    /// Whether the result is that of every position, in the order of the positions, rather than the last one.
    pub(super) sequences: bool,
    /// Whether the result is 0 at padding, rather than what it was before.
    pub(super) zero_output_for_mask: bool,
}

/// What going through a sequence gives.
pub(super) struct Gone {
    /// The result, with the mask that goes on.
    pub(super) result: Signal,
    /// The states after the last step.
    pub(super) states: Vec<ValueId>,
}

impl Gone {
    /// What a layer by itself gives: Keras has a sequence that ran backwards in the order of its steps, outside of a
    /// bidirectional layer, and leaves the mask as it is. States stand beside the result, if they are asked for.
    pub(super) fn finished(self, at: &mut Context<'_>, way: Way, return_state: bool) -> Lowered {
        let result = match way.sequences && way.reverse {
            true => self.result.with(turned(at, self.result.value)?),
            false => self.result,
        };
        Ok(match return_state {
            true => at.beside(result, self.states.into_iter().map(Signal::bare).collect()),
            false => result,
        })
    }

    /// The same with 0 as the result at padding, where that is wanted.
    pub(super) fn zeroed(
        self,
        at: &mut Context<'_>,
        mask: Option<ValueId>,
        way: Way,
    ) -> Result<Self, ShapeError> {
        let Some(mask) = mask.filter(|_| way.zero_output_for_mask) else { return Ok(self) };
        let mask = match way.sequences {
            true => mask,
            false => {
                let last = if way.reverse { 0 } else { at.shape(mask)[1] - 1 };
                taken(at, mask, last)?
            }
        };
        let mask = at.mask_for(mask, at.shape(self.result.value).rank())?;
        let value = at.op(Binary::Multiply, &[self.result.value, mask])?;
        Ok(Self { result: self.result.with(value), ..self })
    }
}

/// Runs a step at every position of `[batch, length, ...]`. A step gets what it sees of the position and the states,
/// and gives the new states; the one at `shown` is the result. Where the mask is 0 the states stay as they are, and so
/// does the result, which is 0 before the first position that counts.
pub(super) fn go(
    at: &mut Context<'_>,
    x: Signal,
    begun: &Begun,
    shown: usize,
    way: Way,
    mut step: impl FnMut(&mut Context<'_>, ValueId, &[ValueId]) -> Result<Vec<ValueId>, ShapeError>,
) -> Result<Gone, ShapeError> {
    let length = at.shape(x.value).extents().get(1).copied().unwrap_or(0);
    if length == 0 || length > LONGEST {
        let problem = format!("with these settings it takes sequences of at most {LONGEST} positions");
        return Err(at.refusal(&[x.value], problem));
    }
    let mut results = vec![None; length];
    let mut states = begun.states.clone();
    let mut result = None;
    for number in 0..length {
        let position = if way.reverse { length - 1 - number } else { number };
        let seen = taken(at, x.value, position)?;
        let mut after = step(at, seen, &states)?;
        let made = after[shown];
        if let Some(mask) = x.mask {
            let mask = taken(at, mask, position)?;
            for (after, &before) in after.iter_mut().zip(&states) {
                *after = chosen(at, mask, *after, before)?;
            }
        }
        states = after;
        result = Some(match x.mask {
            Some(mask) if way.zero_output_for_mask || !begun.zeros => {
                let mask = taken(at, mask, position)?;
                let before = result.filter(|_| !way.zero_output_for_mask);
                let before = before.map_or_else(|| nothing_like(at, made), Ok)?;
                chosen(at, mask, made, before)?
            }
            _ => states[shown],
        });
        results[position] = result;
    }
    begun.leave(at, &states)?;
    let last = result.expect("there is a position");
    let result = match way.sequences {
        true => {
            let results: Vec<ValueId> = results.into_iter().flatten().collect();
            x.with(joined(at, &results)?)
        }
        false => {
            // Keras's loop copies what a step gives.
            at.forget_logits(last);
            Signal::bare(last)
        }
    };
    Ok(Gone { result, states })
}

/// Zeros in the shape of a value.
fn nothing_like(at: &mut Context<'_>, value: ValueId) -> Result<ValueId, ShapeError> {
    let shape = at.shape(value).clone();
    at.op(Fill { shape, value: 0.0 }, &[])
}

/// One position of `[batch, length, ...]`, without the axis of positions.
fn taken(at: &mut Context<'_>, x: ValueId, position: usize) -> Result<ValueId, ShapeError> {
    let extents = at.shape(x).extents().to_vec();
    let (mut start, mut size) = (vec![0; extents.len()], extents.clone());
    (start[1], size[1]) = (position, 1);
    let cut = at.op(Slice { start, size }, &[x])?;
    at.reshaped(cut, Shape::new([&extents[..1], &extents[2..]].concat()))
}

/// `[batch, length, ...]` in the opposite order of positions.
fn turned(at: &mut Context<'_>, sequence: ValueId) -> Result<ValueId, ShapeError> {
    let length = at.shape(sequence)[1];
    if length > LONGEST {
        return Err(at.refusal(&[sequence], format!("sequences of more than {LONGEST} are not turned")));
    }
    let positions = (0..length).rev().map(|position| taken(at, sequence, position));
    let positions = positions.collect::<Result<Vec<_>, _>>()?;
    joined(at, &positions)
}

/// Results of all positions as `[batch, length, ...]`.
fn joined(at: &mut Context<'_>, positions: &[ValueId]) -> Result<ValueId, ShapeError> {
    let extents = at.shape(positions[0]).extents().to_vec();
    let single = Shape::new([&extents[..1], &[1], &extents[1..]].concat());
    let mut parts = Vec::with_capacity(positions.len());
    for &position in positions {
        parts.push(at.reshaped(position, single.clone())?);
    }
    if let [only] = parts[..] { Ok(only) } else { at.op(Concat { axis: 1 }, &parts) }
}

/// `before + mask (after - before)`, for a mask of one number a sample.
fn chosen(
    at: &mut Context<'_>,
    mask: ValueId,
    after: ValueId,
    before: ValueId,
) -> Result<ValueId, ShapeError> {
    let mut extents = vec![1; at.shape(after).rank()];
    extents[0] = at.shape(after)[0];
    let mask = at.reshaped(mask, Shape::new(extents))?;
    let kept = at.op(Binary::Multiply, &[after, mask])?;
    let turned = at.op(Unary::Negate, &[mask])?;
    let rest = at.op(Unary::AddScalar(1.0), &[turned])?;
    let carried = at.op(Binary::Multiply, &[before, rest])?;
    at.op(Binary::Add, &[kept, carried])
}
