//! Layers that Keras runs position by position: `TimeDistributed` over a known length is a loop in Python, so a graph
//! has the layer once for each position.
//!
//! Evidence, from the traces of an autoencoder over 60 positions and of a video of 8 frames: the input is turned so
//! that time comes first and cut by `StridedSlice`; the gradient of each cut is as large as the whole input, and all of
//! them wait for each other to be added.

use crate::lowering::{Backward, Lowering};
use crate::program::TensorId;
use crate::rules;
use plimsoll_graph::{Graph, Op, OpKind, ValueId};

/// The ops of such a layer, of which these are the first: from the one that makes time part of the batch to the one
/// that takes it out again. Gives them and the number of positions.
pub fn find<'a, 'g>(graph: &Graph, ops: &'a [&'g Op]) -> Option<(&'a [&'g Op], u64)> {
    let positions = folded(graph, ops.first()?)?;
    let layer = ops[0].layer;
    let own = ops.iter().take_while(|op| op.layer == layer).count();
    let last = (2..own).rev().find(|&last| unfolds(graph, ops[last], positions))?;
    let all = &ops[..=last];
    let within = |value: &ValueId| all[..last].iter().any(|op| op.outputs.contains(value));
    let leaks = ops[last + 1..].iter().any(|op| op.inputs.iter().any(within));
    (!leaks).then_some((all, positions as u64))
}

/// Whether a graph has such a layer.
pub fn is_in(graph: &Graph) -> bool {
    graph.ops().iter().any(|op| folded(graph, op).is_some())
}

/// How many positions become part of the batch.
fn folded(graph: &Graph, op: &Op) -> Option<usize> {
    let [before, after] = extents(graph, op)?;
    let [batch, positions, rest @ ..] = &before[..] else { return None };
    let folds = after.first() == Some(&(batch * positions)) && after[1..] == *rest && *positions > 1;
    (folds && !rest.is_empty()).then_some(*positions)
}

fn unfolds(graph: &Graph, op: &Op, positions: usize) -> bool {
    extents(graph, op).is_some_and(|[before, after]| {
        after.len() == before.len() + 1
            && after[1] == positions
            && before[0] == after[0] * positions
            && before[1..] == after[2..]
    })
}

fn extents(graph: &Graph, op: &Op) -> Option<[Vec<usize>; 2]> {
    let of = |value: ValueId| graph.tensor(value).shape.extents().to_vec();
    matches!(op.kind, OpKind::Reshape(_)).then(|| [of(op.inputs[0]), of(op.outputs[0])])
}

/// What one position keeps for its gradient.
type Tape = Vec<(ValueId, Backward)>;

/// Adds the kernels of all positions.
pub fn forward(at: &mut Lowering<'_>, ops: &[&Op], positions: u64) -> Backward {
    let [fold, inner @ .., unfold] = ops else { unreachable!("there are two ends") };
    let (x, cut, made, y) = (fold.inputs[0], fold.outputs[0], unfold.inputs[0], unfold.outputs[0]);
    ops[..ops.len() - 1].iter().for_each(|op| at.cut(&op.outputs, positions));
    let whole = at.bytes(x);
    let turned = at.fresh("Transpose", &[at.tensor(x)], whole);
    let (mut results, mut tapes): (Vec<TensorId>, Vec<Tape>) = (Vec::new(), Vec::new());
    for _ in 0..positions {
        let slice = at.fresh("StridedSlice", &[turned], at.bytes(cut));
        at.set(cut, slice);
        tapes.push(inner.iter().map(|op| (op.outputs[0], rules::forward(at, op))).collect());
        results.push(at.tensor(made));
    }
    let stacked = at.fresh("Pack", &results, at.bytes(y));
    let result = at.fresh("Transpose", &[stacked], at.bytes(y));
    at.set(y, result);
    Box::new(move |at, dy| {
        let turned = at.fresh("Transpose", &[dy], at.bytes(y));
        let mut parts = Vec::new();
        for tape in tapes.into_iter().rev() {
            let slice = at.fresh("Unpack", &[turned], at.bytes(made));
            at.give(made, slice);
            for (output, backward) in tape.into_iter().rev() {
                if let Some(gradient) = at.gradient_of(output) {
                    backward(at, gradient);
                }
            }
            parts
                .extend(at.gradient_of(cut).map(|gradient| at.fresh("StridedSliceGrad", &[gradient], whole)));
        }
        if !parts.is_empty() {
            let sum = at.reuse("AddN", &parts, whole);
            let gradient = at.fresh("Transpose", &[sum], whole);
            at.give(x, gradient);
        }
    })
}
