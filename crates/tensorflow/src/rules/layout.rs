//! Ops that move elements or make constants.

use crate::lowering::{Backward, Call, Lowering};
use plimsoll_graph::Op;
use plimsoll_train::Optimizer;

/// The same bytes under another shape.
pub fn reshape(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[0];
    at.set(op.outputs[0], at.tensor(x));
    Box::new(move |at, dy| at.give(x, dy))
}

/// Moves elements forward by one kernel and back by another; keeps nothing.
pub fn moved(at: &mut Lowering<'_>, op: &Op, there: &'static str, back: &'static str) -> Backward {
    let x = op.inputs[0];
    let result = at.fresh(there, &[at.tensor(x)], at.bytes(op.outputs[0]));
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        if at.wants(x) {
            let gradient = at.fresh(back, &[dy], at.bytes(x));
            at.give(x, gradient);
        }
    })
}

/// Stretches; the gradient is a sum.
pub fn broadcast(at: &mut Lowering<'_>, op: &Op) -> Backward {
    moved(at, op, "BroadcastTo", "Sum")
}

/// Joins; the gradient of each part is a slice.
pub fn concat(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let operands = at.operands(op);
    let result = at.fresh("ConcatV2", &operands, at.bytes(op.outputs[0]));
    at.set(op.outputs[0], result);
    let parts = op.inputs.clone();
    Box::new(move |at, dy| {
        for part in parts {
            if at.wants(part) {
                let gradient = at.fresh("Slice", &[dy], at.bytes(part));
                at.give(part, gradient);
            }
        }
    })
}

/// Something without a gradient.
pub fn constant(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let operands = at.operands(op);
    for &output in &op.outputs {
        let bytes = at.bytes(output);
        let result = at.call(Call { name: "Const", reads: &operands, bytes, early: true, ..Call::default() });
        at.set(output, result);
    }
    Box::new(|_, _| ())
}

/// Looks up rows. The gradient is a list of rows. Gradient descent subtracts them from the table one by one, and a
/// variable that is changed in this way is copied whenever it is read (LSTM with SGD: `GatherV2/ReadVariableOp`, 5 MB).
/// Other optimizers make a whole table of the list first.
pub fn embedding(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [table, y] = [op.inputs[0], op.outputs[0]];
    let scattered = at.setup.optimizer == Optimizer::Sgd && at.setup.accumulate == 1;
    let mut operands = [at.weight(table), at.tensor(op.inputs[1])];
    if scattered {
        operands[0] = at.fresh("ReadVariableOp", &[], at.elements(table) * 4);
    }
    let result = at.fresh("GatherV2", &operands, at.bytes(y));
    at.set(y, result);
    Box::new(move |at, dy| {
        at.read_shapes(&operands, dy);
        let gradient =
            if scattered { dy } else { at.fresh("UnsortedSegmentSum", &[dy], at.elements(table) * 4) };
        at.give(table, gradient);
    })
}
