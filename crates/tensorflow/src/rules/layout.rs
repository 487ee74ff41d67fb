//! Ops that move elements or make constants.

use crate::lowering::{Backward, Call, Lowering};
use crate::optimizer::LARGEST_CONSTANT;
use crate::program::{Owner, Start};
use plimsoll_graph::{Op, Role};
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

/// Interpolates, in float32 under every policy: a mixed one clips the result to what half can hold, keeps where it did,
/// and has zeros of that size as a constant of the graph (a segmentation model in float16: `clip_by_value`).
pub fn resized(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [x, y] = [op.inputs[0], op.outputs[0]];
    let (wide, elements) = (at.elements(y) * 4, at.elements(y));
    if at.bytes(y) == wide {
        return moved(at, op, "ResizeBilinear", "ResizeBilinearGrad");
    }
    let resized = at.fresh("ResizeBilinear", &[at.tensor(x)], wide);
    let least = at.fresh("Minimum", &[resized], wide);
    // The executor goes on with the result first, so both wait for their masks.
    let masks =
        [("LessEqual", resized), ("GreaterEqual", least)].map(|(name, of)| at.fresh(name, &[of], elements));
    let clipped = at.fresh("ClipByValue", &[least], wide);
    let result = at.fresh("Cast", &[clipped], at.bytes(y));
    at.set(y, result);
    if wide <= LARGEST_CONSTANT {
        at.owned(Owner::Variable(Start::Filled), Role::Workspace, at.layer, "zeros_like", wide);
    }
    Box::new(move |at, dy| {
        let dy = at.fresh("Cast", &[dy], wide);
        let kept = at.reuse("SelectV2", &[dy, masks[0], masks[1]], wide);
        let gradient = at.fresh("ResizeBilinearGrad", &[kept], at.elements(x) * 4);
        let gradient = at.fresh("Cast", &[gradient], at.bytes(x));
        at.give(x, gradient);
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
    let mut parts = op.inputs.clone();
    if at.variant.reversed {
        parts.reverse();
    }
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

/// Adds up rows by their ids; the gradient looks rows up.
pub fn sums_by_ids(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[1];
    let operands = at.operands(op);
    let result = at.fresh("UnsortedSegmentSum", &operands, at.bytes(op.outputs[0]));
    at.set(op.outputs[0], result);
    let ids = operands[0];
    Box::new(move |at, dy| {
        if at.wants(x) {
            let gradient = at.fresh("GatherV2", &[dy, ids], at.bytes(x));
            at.give(x, gradient);
        }
    })
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
