//! Losses and their gradients.

use crate::lowering::Lowering;
use crate::program::{Owner, TensorId};
use plimsoll_graph::op::Unary;
use plimsoll_graph::{Op, OpKind, Role, Source, ValueId};
use plimsoll_train::Loss;

/// Adds the loss of every prediction and what regularizers add, and gives their gradients. Keras finds the logits
/// behind a softmax or a sigmoid and starts from them.
pub fn loss(at: &mut Lowering<'_>) {
    for &predictions in at.graph.outputs() {
        at.layer = None;
        let logits = logits_behind(at, predictions);
        let read = logits.unwrap_or(predictions);
        let from_logits = logits.is_some() || says_logits(at.setup.loss);
        add_targets(at, predictions);
        let bytes = at.elements(read) * 4;
        let tensor = cast(at, at.tensor(read), bytes);
        let gradient = match at.setup.loss {
            Loss::SparseCategoricalCrossEntropy { .. } | Loss::CategoricalCrossEntropy { .. }
                if from_logits =>
            {
                softmax_cross_entropy(at, tensor, read, bytes)
            }
            Loss::SparseCategoricalCrossEntropy { .. } | Loss::CategoricalCrossEntropy { .. } => {
                let clipped = at.fresh("ClipByValue", &[tensor], bytes);
                let logarithm = at.fresh("Log", &[clipped], bytes);
                let gradient = softmax_cross_entropy(at, logarithm, read, bytes);
                let gradient = at.reuse("RealDiv", &[gradient, clipped], bytes);
                at.reuse("SelectV2", &[gradient, tensor], bytes)
            }
            Loss::BinaryCrossEntropy { .. } => binary_cross_entropy(at, tensor, bytes),
            // Whoever asks is told that nothing is known about composed losses.
            Loss::MeanSquaredError | Loss::MeanAbsoluteError | Loss::Huber { .. } | Loss::Composed(_) => {
                distance(at, tensor, bytes)
            }
        };
        let gradient = cast(at, gradient, at.bytes(read));
        at.give(read, gradient);
    }
    for &penalty in at.graph.penalties() {
        at.layer = None;
        let bytes = at.elements(penalty) * 4;
        let gradient = at.fresh("Fill", &[at.tensor(penalty)], bytes);
        at.give(penalty, gradient);
    }
}

/// Whether an op is a softmax or sigmoid that a graph leaves out, since only the loss reads it and the loss reads what
/// is behind it.
pub fn is_left_out(at: &Lowering<'_>, op: &Op) -> bool {
    let [result, ..] = op.outputs[..] else { return false };
    !at.is_eager()
        && !at.is_read[result.index()]
        && at.graph.outputs().contains(&result)
        && logits_behind(at, result).is_some()
}

fn logits_behind(at: &Lowering<'_>, predictions: ValueId) -> Option<ValueId> {
    let Source::Op(op) = at.graph.value(predictions).source else { return None };
    let op = at.graph.op(op);
    let found = match at.setup.loss {
        Loss::SparseCategoricalCrossEntropy { from_logits: false }
        | Loss::CategoricalCrossEntropy { from_logits: false } => matches!(op.kind, OpKind::Softmax(_)),
        Loss::BinaryCrossEntropy { from_logits: false } => matches!(op.kind, OpKind::Unary(Unary::Sigmoid)),
        _ => false,
    };
    found.then(|| op.inputs[0])
}

fn says_logits(loss: Loss) -> bool {
    match loss {
        Loss::SparseCategoricalCrossEntropy { from_logits }
        | Loss::CategoricalCrossEntropy { from_logits }
        | Loss::BinaryCrossEntropy { from_logits } => from_logits,
        Loss::MeanSquaredError | Loss::MeanAbsoluteError | Loss::Huber { .. } | Loss::Composed(_) => false,
    }
}

fn add_targets(at: &mut Lowering<'_>, predictions: ValueId) {
    let targets = at.setup.loss.targets(at.graph.tensor(predictions));
    let elements = targets.map_or(1, |targets| targets.shape.elements()) as u64;
    at.owned(Owner::Caller, Role::Input, None, "targets", elements * 4);
}

/// One kernel makes the loss and its gradient, which takes the logits' place.
fn softmax_cross_entropy(at: &mut Lowering<'_>, logits: TensorId, like: ValueId, bytes: u64) -> TensorId {
    let rows = bytes / at.graph.tensor(like).shape.last().max(1) as u64;
    let difference = at.reuse("SoftmaxCrossEntropyWithLogits", &[logits], bytes);
    let loss = at.fresh("Sum", &[difference], rows);
    at.reuse("Mul", &[difference, loss], bytes)
}

/// Written out of elementwise functions, three of which are kept.
fn binary_cross_entropy(at: &mut Lowering<'_>, logits: TensorId, bytes: u64) -> TensorId {
    let clipped = at.fresh("SelectV2", &[logits], bytes);
    let product = at.fresh("Mul", &[logits], bytes);
    let difference = at.reuse("Sub", &[clipped, product], bytes);
    let exponential = at.fresh("Exp", &[logits], bytes);
    let logarithm = at.fresh("Log1p", &[exponential], bytes);
    let loss = at.reuse("AddV2", &[difference, logarithm], bytes);
    let through = at.reuse("RealDiv", &[exponential, loss], bytes);
    at.reuse("AddN", &[through, logits], bytes)
}

/// The difference is computed for the loss and again for the gradient.
fn distance(at: &mut Lowering<'_>, predictions: TensorId, bytes: u64) -> TensorId {
    let squares = at.fresh("SquaredDifference", &[predictions], bytes);
    let loss = at.fresh("Mean", &[squares], 4);
    let difference = at.reuse("Sub", &[predictions, loss], bytes);
    at.reuse("Mul", &[difference], bytes)
}

fn cast(at: &mut Lowering<'_>, tensor: TensorId, bytes: u64) -> TensorId {
    if at.program.tensor(tensor).bytes == bytes { tensor } else { at.fresh("Cast", &[tensor], bytes) }
}
