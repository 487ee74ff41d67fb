//! The plain recurrent layer, which our graphs write out position by position and Keras runs as a loop like the others.

use super::{Layer, Shown, run};
use crate::lowering::{Backward, Lowering};
use plimsoll_graph::op::Binary;
use plimsoll_graph::{Graph, Op, OpKind, Role, ValueId};

/// The ops of such a layer, of which these are the first: a product with the whole sequence, then a product with the
/// state, a sum and a function at every position, and nothing that others read but the result.
pub fn find<'a, 'g>(graph: &Graph, ops: &'a [&'g Op]) -> Option<&'a [&'g Op]> {
    let first = ops.first().filter(|op| matches!(op.kind, OpKind::MatMul(_)))?;
    let own = &ops[..ops.iter().take_while(|op| op.layer == first.layer).count()];
    let [_, positions, _] = *graph.tensor(first.outputs[0]).shape.extents() else { return None };
    let count = |is: fn(&OpKind) -> bool| own.iter().filter(|op| is(&op.kind)).count();
    let is_stepped = [
        count(|kind| matches!(kind, OpKind::Slice(_))),
        count(|kind| matches!(kind, OpKind::Binary(Binary::Add))),
        count(|kind| matches!(kind, OpKind::Unary(_))),
        count(|kind| matches!(kind, OpKind::MatMul(_))) - 1,
    ]
    .iter()
    .all(|&count| count == positions && positions > 1);
    let is_plain = own.iter().all(|op| is_of_a_step(&op.kind)) && recurrent(graph, own).is_some();
    (is_stepped && is_plain && !leaks(own, &ops[own.len()..])).then_some(own)
}

fn is_of_a_step(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::MatMul(_)
            | OpKind::BiasAdd(_)
            | OpKind::Fill(_)
            | OpKind::Slice(_)
            | OpKind::Reshape(_)
            | OpKind::Binary(Binary::Add)
            | OpKind::Unary(_)
            | OpKind::Concat(_)
    )
}

/// The kernel of the states: the one that every product but the first reads.
fn recurrent(graph: &Graph, own: &[&Op]) -> Option<ValueId> {
    let mut kernels = own.iter().filter(|op| matches!(op.kind, OpKind::MatMul(_))).map(|op| op.inputs[1]);
    let projection = kernels.next()?;
    let kernel = kernels.next()?;
    let are_parameters = [projection, kernel].iter().all(|&of| graph.value(of).role == Role::Parameter);
    (are_parameters && kernels.all(|other| other == kernel)).then_some(kernel)
}

/// Whether somebody reads more of these ops than their last result.
fn leaks(own: &[&Op], rest: &[&Op]) -> bool {
    let inner: Vec<ValueId> = own[..own.len() - 1].iter().flat_map(|op| op.outputs.iter().copied()).collect();
    rest.iter().flat_map(|op| &op.inputs).any(|read| inner.contains(read))
}

/// One gate, whose function's result is all that a position keeps beside what it reads.
pub fn forward(at: &mut Lowering<'_>, ops: &[&Op]) -> Backward {
    let last = ops[ops.len() - 1];
    let sequence = matches!(last.kind, OpKind::Concat(_));
    let layer = layer(at, ops);
    run(at, Shown { value: last.outputs[0], sequence }, layer, 1, |at, layer, projected, state| {
        let sum = at.reuse("AddV2", &[projected, state.1], layer.state);
        let result = at.reuse("Tanh", &[sum], layer.state);
        let mut kept = vec![result];
        if at.is_eager() {
            kept.extend([projected, state.1, sum]);
        }
        (result, result, kept)
    })
}

fn layer(at: &Lowering<'_>, ops: &[&Op]) -> Layer {
    let (x, kernel, projected) = (ops[0].inputs[0], ops[0].inputs[1], ops[0].outputs[0]);
    let positions = at.graph.tensor(projected).shape[1];
    let bias = ops.iter().find(|op| matches!(op.kind, OpKind::BiasAdd(_))).map(|op| op.inputs[1]);
    let at_position = |value: ValueId| at.bytes(value) / positions as u64;
    let state = at_position(projected);
    let recurrent = recurrent(at.graph, ops).expect("it was found");
    Layer { x, kernel, recurrent, bias, positions, input: at_position(x), gates: state, state }
}
