//! Convolutions. All keep their image; on the CPU their gradients unroll images into scratch.

use super::place::Place;
use super::scratch::Product;
use crate::lowering::{Backward, Lowering};
use plimsoll_graph::op::{Conv2d, TransposedConv2d};
use plimsoll_graph::{Op, ValueId};

/// The gradient of the filter and that of the image, each with its scratch.
pub fn conv2d(at: &mut Lowering<'_>, op: &Op, kind: &Conv2d) -> Backward {
    let [x, filter] = [op.inputs[0], op.inputs[1]];
    let operands = [at.tensor(op.inputs[0]), at.weight(op.inputs[1])];
    let result = at.fresh("Conv2D", &operands, at.bytes(op.outputs[0]));
    at.set(op.outputs[0], result);
    let place = Place::of_next(at);
    let product = product(at, x, op.outputs[0], filter, kind.groups);
    let batch = at.samples(x);
    Box::new(move |at, dy| {
        let of_kernel = |at: &mut Lowering<'_>| {
            if at.wants(filter) {
                let scratch = scratch(at, product.filter_gradient());
                let reads = [operands[0], dy];
                let gradient = at.scratchy("Conv2DBackpropFilter", &reads, at.bytes(filter), &scratch);
                at.give(filter, gradient);
            }
        };
        let of_input = |at: &mut Lowering<'_>| {
            if at.wants(x) {
                let scratch = scratch(at, product.input_gradient(batch));
                let gradient = at.scratchy("Conv2DBackpropInput", &[operands[1], dy], at.bytes(x), &scratch);
                at.give(x, gradient);
            }
        };
        place.gradients(at, of_kernel, of_input);
    })
}

/// The forward pass is a convolution's gradient, and the other way round.
pub fn transposed(at: &mut Lowering<'_>, op: &Op, kind: &TransposedConv2d) -> Backward {
    let [x, filter] = [op.inputs[0], op.inputs[1]];
    let operands = [at.tensor(op.inputs[0]), at.weight(op.inputs[1])];
    // The convolution this is the gradient of reads the result and gives the argument.
    let place = Place::of_next(at);
    let product = product(at, op.outputs[0], x, filter, kind.conv.groups);
    let batch = at.samples(x);
    let unrolled = scratch(at, product.input_gradient(batch));
    let result = at.scratchy("Conv2DBackpropInput", &operands, at.bytes(op.outputs[0]), &unrolled);
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let of_kernel = |at: &mut Lowering<'_>| {
            if at.wants(filter) {
                let scratch = scratch(at, product.filter_gradient());
                let reads = [dy, operands[0]];
                let gradient = at.scratchy("Conv2DBackpropFilter", &reads, at.bytes(filter), &scratch);
                at.give(filter, gradient);
            }
        };
        let of_input = |at: &mut Lowering<'_>| {
            if at.wants(x) {
                let gradient = at.fresh("Conv2D", &[dy, operands[1]], at.bytes(x));
                at.give(x, gradient);
            }
        };
        place.gradients(at, of_kernel, of_input);
    })
}

/// Depthwise kernels have only small scratch.
pub fn depthwise(at: &mut Lowering<'_>, op: &Op) -> Backward {
    let [x, filter] = [op.inputs[0], op.inputs[1]];
    let operands = [at.tensor(op.inputs[0]), at.weight(op.inputs[1])];
    let place = Place::of_next(at);
    let result = at.fresh("DepthwiseConv2dNative", &operands, at.bytes(op.outputs[0]));
    at.set(op.outputs[0], result);
    Box::new(move |at, dy| {
        let of_kernel = |at: &mut Lowering<'_>| {
            if at.wants(filter) {
                let reads = [operands[0], dy];
                // Every sample's gradient is computed by itself, then all are added.
                let samples = at.samples(x);
                let scratch = scratch(at, at.bytes(filter) * samples);
                let gradient =
                    at.scratchy("DepthwiseConv2dNativeBackpropFilter", &reads, at.bytes(filter), &scratch);
                at.give(filter, gradient);
            }
        };
        let of_input = |at: &mut Lowering<'_>| {
            if at.wants(x) {
                let reads = [operands[1], dy];
                let gradient = at.fresh("DepthwiseConv2dNativeBackpropInput", &reads, at.bytes(x));
                at.give(x, gradient);
            }
        };
        place.gradients(at, of_kernel, of_input);
    })
}

fn product(at: &Lowering<'_>, image: ValueId, result: ValueId, filter: ValueId, groups: usize) -> Product {
    let [result, filter] = [result, filter].map(|value| at.graph.tensor(value).shape.clone());
    let channels = at.graph.tensor(image).shape.last() / groups.max(1);
    Product {
        pixels: (result[1] * result[2]) as u64,
        window: (filter[0] * filter[1] * channels) as u64,
        filters: result.last() as u64,
        element: at.element(),
    }
}

fn scratch(at: &Lowering<'_>, bytes: u64) -> Vec<u64> {
    if at.on_cpu() { vec![bytes] } else { Vec::new() }
}
