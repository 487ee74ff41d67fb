//! Matrix products and biases.

use super::place::{self, Place};
use crate::lowering::{Backward, Lowering};
use crate::program::TensorId;
use plimsoll_graph::op::MatMul;
use plimsoll_graph::{Op, OpKind, Source, ValueId};
use plimsoll_train::Precision;

/// A product keeps both factors. A layer's kernel that was reshaped is `EinsumDense`'s, which multiplies sample by
/// sample: the kernel's gradient exists once for each sample before it is summed (transformer: `query/MatMul/MatMul_1`
/// is 8 kernels large at batch 8).
pub fn matmul(at: &mut Lowering<'_>, op: &Op, _kind: MatMul) -> Backward {
    let [a, b] = [op.inputs[0], op.inputs[1]];
    let operands = [at.tensor(op.inputs[0]), at.weight(op.inputs[1])];
    let result = product(at, "MatMul", operands, at.bytes(op.outputs[0]));
    at.set(op.outputs[0], result);
    let place = Place::of_next(at);
    let samples = if is_einsum(at, a, b) { at.samples(a) } else { 1 };
    let reshaped = at.graph.tensor(a).shape.rank() > 2;
    Box::new(move |at, dy| {
        if reshaped {
            at.read_shapes(&[result], dy);
        }
        let of_kernel = |at: &mut Lowering<'_>| {
            if at.wants(b) {
                let mut gradient = product(at, "MatMul_1", [operands[0], dy], at.bytes(b) * samples);
                if samples > 1 {
                    gradient = at.fresh("Sum", &[gradient], at.bytes(b));
                }
                at.give(b, gradient);
            }
        };
        let of_input = |at: &mut Lowering<'_>| {
            if at.wants(a) {
                let gradient = product(at, "MatMul", [dy, operands[1]], at.bytes(a));
                at.give(a, gradient);
            }
        };
        place.gradients(at, of_kernel, of_input);
    })
}

/// The CPU multiplies bfloat16 in float32: both factors and the result exist in that type while the kernel runs
/// (transformer: the temporaries of `value/MatMul/MatMul_1`).
fn product(at: &mut Lowering<'_>, name: &'static str, factors: [TensorId; 2], bytes: u64) -> TensorId {
    let widened = at.on_cpu() && at.setup.precision == Precision::MixedBfloat16;
    let sizes = [at.program.tensor(factors[0]).bytes, at.program.tensor(factors[1]).bytes, bytes];
    let scratch: Vec<u64> = sizes.into_iter().filter(|_| widened).map(|size| size * 2).collect();
    at.scratchy(name, &factors, bytes, &scratch)
}

/// A bias is added in place; the gradient passes through. The bias's own gradient is a kernel of the product that it
/// follows.
pub fn bias_add(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [x, bias] = [op.inputs[0], op.inputs[1]];
    let operands = [at.tensor(op.inputs[0]), at.weight(op.inputs[1])];
    let result = at.reuse("BiasAdd", &operands, at.bytes(x));
    at.set(op.outputs[0], result);
    let follows_product =
        matches!(at.graph.value(x).source, Source::Op(op) if is_product(&at.graph.op(op).kind));
    Box::new(move |at, dy| {
        at.waiting_bias = at.wants(bias).then_some((bias, dy));
        if !follows_product {
            place::bias_gradient(at);
        }
        at.give(x, dy);
    })
}

fn is_product(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::MatMul(_) | OpKind::Conv2d(_) | OpKind::DepthwiseConv2d(_) | OpKind::TransposedConv2d(_)
    )
}

/// Whether `b` is one reshaped parameter that serves every sample of `a`.
fn is_einsum(at: &Lowering<'_>, a: ValueId, b: ValueId) -> bool {
    let reshaped = match at.graph.value(b).source {
        Source::Op(op) => matches!(at.graph.op(op).kind, OpKind::Reshape(_)),
        Source::Input | Source::Persistent(_) => false,
    };
    reshaped && at.graph.tensor(a).shape.rank() > 2 && at.graph.tensor(b).shape.rank() == 2
}
