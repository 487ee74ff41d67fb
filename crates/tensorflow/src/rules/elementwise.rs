//! Elementwise functions, softmax and dropout. A kernel runs in place where nobody else reads its operand.

use crate::lowering::{Backward, Call, Lowering};
use crate::program::TensorId;
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{Op, ValueId};

/// A function that keeps nothing.
pub fn linear(at: &mut Lowering<'_>, op: &Op, name: &'static str) -> Backward {
    let x = op.inputs[0];
    let result = at.reuse(name, &[at.tensor(x)], at.bytes(x));
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let gradient = at.reuse(name, &[dy], at.bytes(x));
        at.give(x, gradient);
    })
}

/// Functions that are one kernel keep argument or result; Keras writes the others out of simpler ones, each of which
/// keeps its own.
pub fn unary(at: &mut Lowering<'_>, op: &Op, kind: Unary) -> Backward {
    let x = op.inputs[0];
    let bytes = at.bytes(x);
    let argument = at.tensor(x);
    match kind {
        Unary::Relu | Unary::Relu6 | Unary::Elu(_) | Unary::Sigmoid | Unary::Tanh => {
            keeps_result(at, op, "Relu")
        }
        Unary::Exp | Unary::Sqrt | Unary::Rsqrt => keeps_result(at, op, "Exp"),
        Unary::LeakyRelu(_) | Unary::Softplus | Unary::Abs | Unary::Log | Unary::Square => {
            keeps_argument(at, op, "LeakyRelu")
        }
        Unary::MaximumScalar(_) | Unary::PowerScalar(_) | Unary::Huber(_) => keeps_argument(at, op, "Pow"),
        Unary::Negate | Unary::AddScalar(_) => {
            let result = at.reuse("AddV2", &[argument], bytes);
            at.set(op.outputs[0], result);
            Box::new(move |at, dy| at.give(x, dy))
        }
        Unary::MultiplyScalar(_) => linear(at, op, "Mul"),
        Unary::HardSigmoid => {
            let (clipped, result) = hard_sigmoid(at, argument, bytes);
            at.set(op.outputs[0], result);
            Box::new(move |at, dy| {
                let scaled = at.reuse("Mul", &[dy], bytes);
                let gradient = at.reuse("Relu6Grad", &[scaled, clipped], bytes);
                at.give(x, gradient);
            })
        }
        Unary::HardSwish => {
            let (clipped, gate) = hard_sigmoid(at, argument, bytes);
            let result = at.reuse("Mul", &[argument, gate], bytes);
            at.set(op.outputs[0], result);
            Box::new(move |at, dy| {
                let through = at.fresh("Mul", &[dy, argument], bytes);
                let scaled = at.reuse("Mul", &[through], bytes);
                let through = at.reuse("Relu6Grad", &[scaled, clipped], bytes);
                let straight = at.reuse("Mul", &[dy, gate], bytes);
                at.give(x, straight);
                at.give(x, through);
            })
        }
        Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => {
            keeps_argument(at, op, "Sin")
        }
        Unary::Sinh | Unary::Cosh | Unary::Asinh | Unary::Acosh | Unary::Atanh => {
            keeps_argument(at, op, "Sinh")
        }
        Unary::Erf | Unary::ErfInv | Unary::Log1p | Unary::Expm1 => keeps_argument(at, op, "Erf"),
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Sign => flat(at, op, "Floor"),
        Unary::IsNan | Unary::IsFinite => flat(at, op, "IsNan"),
        Unary::Detach => flat(at, op, "StopGradient"),
        Unary::Swish => swish(at, op),
        Unary::Gelu | Unary::GeluTanh => gelu(at, op),
    }
}

/// A function through which no gradient goes.
fn flat(at: &mut Lowering<'_>, op: &Op, name: &'static str) -> Backward {
    let x = op.inputs[0];
    let result = at.reuse(name, &[at.tensor(x)], at.bytes(x));
    at.set(op.outputs[0], result);
    Box::new(|_, _| ())
}

/// Keeps the condition; each side gets a choice between the gradient and zeros.
pub fn select(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let operands = at.operands(op);
    let (bytes, condition) = (at.bytes(op.outputs[0]), operands[0]);
    let result = at.fresh("SelectV2", &operands, bytes);
    at.set(op.outputs[0], result);
    let sides = [op.inputs[1], op.inputs[2]];
    Box::new(move |at, dy| {
        for side in sides {
            if at.wants(side) {
                let chosen = at.fresh("SelectV2", &[condition, dy], bytes);
                give_reduced(at, side, chosen, bytes);
            }
        }
    })
}

/// Sums keep nothing; products keep their argument and are made again for the gradient.
pub fn cumulate(at: &mut Lowering<'_>, op: &Op, product: bool) -> Backward {
    let x = op.inputs[0];
    let (argument, bytes) = (at.tensor(x), at.bytes(x));
    let result = at.fresh("Cumsum", &[argument], bytes);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let gradient = match product {
            false => at.fresh("Cumsum", &[dy], bytes),
            true => {
                let again = at.fresh("Cumprod", &[argument, dy], bytes);
                let weighted = at.reuse("Mul", &[again, dy], bytes);
                let sum = at.fresh("Cumsum", &[weighted], bytes);
                at.reuse("DivNoNan", &[sum, argument], bytes)
            }
        };
        at.give(x, gradient);
    })
}

fn hard_sigmoid(at: &mut Lowering<'_>, argument: TensorId, bytes: u64) -> (TensorId, TensorId) {
    let moved = at.reuse("AddV2", &[argument], bytes);
    let clipped = at.reuse("Relu6", &[moved], bytes);
    (clipped, at.reuse("Mul", &[clipped], bytes))
}

fn keeps_result(at: &mut Lowering<'_>, op: &Op, name: &'static str) -> Backward {
    let x = op.inputs[0];
    let result = at.reuse(name, &[at.tensor(x)], at.bytes(x));
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let gradient = at.reuse("ReluGrad", &[dy, result], at.bytes(x));
        at.give(x, gradient);
    })
}

fn keeps_argument(at: &mut Lowering<'_>, op: &Op, name: &'static str) -> Backward {
    let x = op.inputs[0];
    let argument = at.tensor(x);
    let result = at.reuse(name, &[argument], at.bytes(x));
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let gradient = at.reuse("LeakyReluGrad", &[dy, argument], at.bytes(x));
        at.give(x, gradient);
    })
}

/// `tf.nn.silu` keeps its argument and computes the sigmoid again; a tape holds the first one all the same
/// (EfficientNet in eager mode).
fn swish(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[0];
    let bytes = at.bytes(x);
    let argument = at.tensor(x);
    let sigmoid = at.fresh("Sigmoid", &[argument], bytes);
    let result = at.reuse("Mul", &[argument, sigmoid], bytes);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        at.read_shapes(&[sigmoid], dy);
        let sigmoid = at.fresh("Sigmoid", &[argument, dy], bytes);
        let rest = at.fresh("Sub", &[sigmoid], bytes);
        let slope = at.reuse("Mul", &[rest, argument], bytes);
        let slope = at.reuse("AddV2", &[slope], bytes);
        let slope = at.reuse("Mul", &[sigmoid, slope], bytes);
        let gradient = at.reuse("Mul", &[dy, slope], bytes);
        at.give(x, gradient);
    })
}

/// `0.5 x erfc(-x / sqrt 2)`: half the argument, what the error function reads and what it gives are kept.
fn gelu(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[0];
    let bytes = at.bytes(x);
    let argument = at.tensor(x);
    let half = at.fresh("Mul", &[argument], bytes);
    let negative = at.fresh("Neg", &[argument], bytes);
    let scaled = at.reuse("Mul", &[negative], bytes);
    let error = at.fresh("Erfc", &[scaled], bytes);
    let result = at.fresh("Mul", &[half, error], bytes);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        at.read_shapes(&[argument, negative], dy);
        let through = at.reuse("Mul", &[dy, half], bytes);
        let bell = at.fresh("Square", &[scaled, dy], bytes);
        let bell = at.reuse("Exp", &[bell], bytes);
        let through = at.reuse("Mul", &[through, bell], bytes);
        let straight = at.reuse("Mul", &[dy, error], bytes);
        at.give(x, straight);
        at.give(x, through);
    })
}

/// Sums pass gradients on; products keep both factors. A side that was stretched gets a sum.
pub fn binary(at: &mut Lowering<'_>, op: &Op, kind: Binary) -> Backward {
    let [a, b] = [op.inputs[0], op.inputs[1]];
    let operands = at.operands(op);
    let bytes = at.bytes(op.outputs[0]);
    let result = at.reuse("AddV2", &operands, bytes);
    at.set(op.outputs[0], result);
    let (left, right) = (operands[0], operands[1]);
    Box::new(move |at, dy| match kind {
        Binary::Add | Binary::Subtract => {
            at.read_shapes(&[left, right], dy);
            let [first, second] = if at.variant.reversed { [a, b] } else { [b, a] };
            give_reduced(at, first, dy, bytes);
            give_reduced(at, second, dy, bytes);
        }
        Binary::Multiply | Binary::Divide | Binary::Power | Binary::Modulo | Binary::Atan2 => {
            give_product(at, b, &[dy, left], bytes);
            give_product(at, a, &[dy, right], bytes);
        }
        Binary::GreaterEqual | Binary::Less | Binary::Equal | Binary::NotEqual => (),
        Binary::Maximum | Binary::Minimum => {
            let mask = at.fresh("GreaterEqual", &[left, right], bytes / 4);
            give_product(at, b, &[dy, mask], bytes);
            give_product(at, a, &[dy, mask], bytes);
        }
    })
}

fn give_product(at: &mut Lowering<'_>, side: ValueId, factors: &[TensorId], bytes: u64) {
    if at.wants(side) {
        let product = at.reuse("Mul", factors, bytes);
        give_reduced(at, side, product, bytes);
    }
}

fn give_reduced(at: &mut Lowering<'_>, side: ValueId, gradient: TensorId, bytes: u64) {
    let own = at.bytes(side);
    let gradient = if own < bytes && at.wants(side) { at.fresh("Sum", &[gradient], own) } else { gradient };
    at.give(side, gradient);
}

/// Keeps its result; the gradient is `(dy - sum(dy y)) y`.
pub fn softmax(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[0];
    let bytes = at.bytes(x);
    let rows = bytes / at.graph.tensor(x).shape.last().max(1) as u64;
    let result = at.reuse("Softmax", &[at.tensor(x)], bytes);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let gradient = softmax_gradient(at, result, dy, bytes, rows);
        at.give(x, gradient);
    })
}

/// The kernels of a softmax's gradient.
pub fn softmax_gradient(
    at: &mut Lowering<'_>,
    result: TensorId,
    dy: TensorId,
    bytes: u64,
    rows: u64,
) -> TensorId {
    let product = at.fresh("Mul", &[dy, result], bytes);
    let sum = at.fresh("Sum", &[product], rows);
    let rest = at.reuse("Sub", &[dy, sum], bytes);
    at.reuse("Mul", &[rest, result], bytes)
}

/// Keeps its result; the gradient is `dy - sum(dy) e^y`.
pub fn log_softmax(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[0];
    let bytes = at.bytes(x);
    let result = at.reuse("LogSoftmax", &[at.tensor(x)], bytes);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let softmax = at.fresh("Exp", &[result, dy], bytes);
        let product = at.reuse("Mul", &[softmax, dy], bytes);
        let gradient = at.reuse("Sub", &[dy, product], bytes);
        at.give(x, gradient);
    })
}

/// The mask is one byte an element and is kept. It depends on a seed alone, so it is made before the first layer runs
/// (transformer with dropout: all masks are allocated before the embedding).
pub fn dropout(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let x = op.inputs[0];
    let bytes = at.bytes(x);
    let random =
        Call { name: "StatelessRandomUniformV2", bytes: at.elements(x) * 4, early: true, ..Call::default() };
    let random = at.call(random);
    let mask = at.fresh("GreaterEqual", &[random], at.elements(x));
    let scaled = at.reuse("Mul", &[at.tensor(x)], bytes);
    let result = at.reuse("SelectV2", &[scaled, mask], bytes);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let kept = at.reuse("SelectV2", &[dy, mask], bytes);
        let gradient = at.reuse("Mul", &[kept], bytes);
        at.give(x, gradient);
    })
}
