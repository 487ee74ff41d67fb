//! One pass through ops: their kernels forward, and what each has to do backward.

use crate::lowering::{Backward, Lowering};
use crate::{rules, unrolled, wide};
use plimsoll_graph::{Op, ValueId};
use std::collections::HashSet;

/// What ops do when the gradients of their results are known, in the order in which they ran.
pub type Tape<'g> = Vec<(&'g Op, Backward)>;

/// Adds the forward kernels of ops.
pub fn forward<'g>(at: &mut Lowering<'_>, ops: &[&'g Op]) -> Tape<'g> {
    let mut tape = Vec::new();
    // What updates moving averages is as small as the statistics and is left out. So is what sums up those of several
    // calls of a layer: it reads statistics, for which rules make no tensor.
    let mut statistics: HashSet<ValueId> = HashSet::new();
    let mut rest = ops;
    while let Some(&op) = rest.first() {
        at.layer = op.layer;
        if let Some((own, backward)) = several(at, rest) {
            tape.push((own[own.len() - 1], backward));
            rest = &rest[own.len()..];
            continue;
        }
        rest = &rest[1..];
        if op.inputs.iter().any(|input| statistics.contains(input)) {
            statistics.extend(&op.outputs);
            continue;
        }
        let backward = if at.is_wide(op.layer) { wide::forward(at, op) } else { rules::forward(at, op) };
        tape.push((op, backward));
        statistics.extend(op.outputs.iter().skip(1).filter(|&&output| !at.has_tensor(output)));
    }
    tape
}

/// A layer of several ops that TensorFlow computes in a way of its own.
fn several<'a, 'g>(at: &mut Lowering<'_>, ops: &'a [&'g Op]) -> Option<(&'a [&'g Op], Backward)> {
    if let Some((own, positions)) = unrolled::find(at.graph, ops) {
        return Some((own, unrolled::forward(at, own, positions)));
    }
    if let Some(own) = rules::group_norm::find(at.graph, ops) {
        return Some((own, rules::group_norm::forward(at, own)));
    }
    let own = rules::find_plain(at.graph, ops)?;
    Some((own, rules::plain(at, own)))
}

/// Adds the backward kernels of ops, the last first.
pub fn backward(at: &mut Lowering<'_>, tape: Tape<'_>) {
    for (op, backward) in tape.into_iter().rev() {
        at.layer = op.layer;
        if let Some(gradient) = at.gradient_of(op.outputs[0]) {
            backward(at, gradient);
        }
    }
}
