//! Losses. Keras finds the logits behind a softmax and leaves the softmax out.

use crate::lowering::Lowering;
use crate::program::Owner;
use plimsoll_graph::{OpKind, Role, Source, ValueId};

/// Adds the loss and gives its gradient to the predictions, or to the logits behind them.
pub fn loss(at: &mut Lowering<'_>) {
    for &predictions in &at.graph.outputs().to_vec() {
        let logits = behind_softmax(at, predictions);
        let tensor = at.tensor(logits.unwrap_or(predictions));
        let target = logits.unwrap_or(predictions);
        let bytes = at.elements(target) * 4;
        let rows = bytes / at.graph.tensor(target).shape.last().max(1) as u64;
        at.owned(Owner::Caller, Role::Input, None, "targets", rows);
        let name = "SparseSoftmaxCrossEntropyWithLogits";
        let cast = if at.bytes(target) == bytes { tensor } else { at.fresh("Cast", &[tensor], bytes) };
        let difference = at.reuse(name, &[cast], bytes);
        let loss = at.fresh("Sum", &[difference], rows);
        let gradient = at.reuse("Mul", &[difference, loss], bytes);
        let gradient = if at.bytes(target) == bytes {
            gradient
        } else {
            at.fresh("Cast", &[gradient], at.bytes(target))
        };
        at.give(target, gradient);
    }
}

fn behind_softmax(at: &Lowering<'_>, predictions: ValueId) -> Option<ValueId> {
    let Source::Op(op) = at.graph.value(predictions).source else { return None };
    let op = at.graph.op(op);
    matches!(op.kind, OpKind::Softmax(_)).then(|| op.inputs[0])
}
