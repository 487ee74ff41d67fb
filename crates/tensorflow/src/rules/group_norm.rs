//! Group normalization, which our graphs write as a layer normalization of turned images and Keras as means over the
//! axes of a group.
//!
//! Evidence, from the traces of a network with eight of them: the same kernels as batch normalization, with statistics
//! for each sample; the means turn their argument first, which takes as much again while they run.

use super::normalization::{Affine, standardized};
use crate::lowering::{Backward, Lowering};
use plimsoll_graph::{Graph, Op, OpKind, Role, Source, ValueId};

/// The ops of such a layer, of which these are the first.
pub fn find<'a, 'g>(graph: &Graph, ops: &'a [&'g Op]) -> Option<&'a [&'g Op]> {
    let layer = ops.first()?.layer?;
    let own = ops.iter().take_while(|op| op.layer == Some(layer)).count();
    let own = &ops[..own];
    let is_turned = |value: ValueId| made_by(graph, value, |kind| matches!(kind, OpKind::Transpose(_)));
    let is_filled = |value: ValueId| made_by(graph, value, |kind| matches!(kind, OpKind::Fill(_)));
    let rows = |value: ValueId| match graph.value(value).source {
        Source::Op(op) => {
            matches!(graph.op(op).kind, OpKind::Reshape(_)) && is_turned(graph.op(op).inputs[0])
        }
        Source::Input | Source::Persistent(_) => false,
    };
    own.iter()
        .any(|op| matches!(op.kind, OpKind::LayerNorm(_)) && is_filled(op.inputs[1]) && rows(op.inputs[0]))
        .then_some(own)
}

fn made_by(graph: &Graph, value: ValueId, is: impl Fn(&OpKind) -> bool) -> bool {
    matches!(graph.value(value).source, Source::Op(op) if is(&graph.op(op).kind))
}

/// Its parameters are read by the ops after the normalization.
pub fn forward(at: &mut Lowering<'_>, ops: &[&Op]) -> Backward {
    let (x, y) = (ops[0].inputs[0], ops[ops.len() - 1].outputs[0]);
    let parameter = |is: fn(&OpKind) -> bool| {
        let inputs = ops.iter().filter(|op| is(&op.kind)).flat_map(|op| op.inputs.iter().copied());
        inputs.into_iter().find(|&input| at.graph.value(input).role == Role::Parameter)
    };
    let gamma = parameter(|kind| matches!(kind, OpKind::Binary(_)));
    let beta = parameter(|kind| matches!(kind, OpKind::BiasAdd(_)));
    let shape = &at.graph.tensor(x).shape;
    let small = at.samples(x) * shape.last() as u64 * 4;
    let turned = at.elements(x) * 4;
    standardized(at, x, y, Affine { gamma, beta, small, turned })
}
