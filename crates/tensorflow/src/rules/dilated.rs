//! Convolutions with holes: TensorFlow cuts the image into images without holes, which become part of the batch.
//!
//! Evidence, from the traces of two segmentation models: `SpaceToBatchND` is as large as the image with its padding,
//! rounded up to a multiple of the dilation (16x16 with a dilation of 18: 54x54), and is kept for the filter's
//! gradient.

use super::place::Place;
use super::scratch::Product;
use crate::lowering::{Backward, Lowering};
use plimsoll_graph::op::{Padding, Sliding};
use plimsoll_graph::{Op, OpKind};

/// Sizes of a convolution with holes.
#[derive(Clone, Copy)]
struct Spread {
    /// Images after cutting.
    images: u64,
    /// Pixels of all images, and of one result, after cutting.
    pixels: u64,
    result: u64,
}

/// Whether a window has holes.
pub fn has_holes(sliding: &Sliding) -> bool {
    sliding.dilation.iter().any(|&dilation| dilation > 1)
}

/// The image is cut, convolved and put together again; so is the gradient, the other way round.
pub fn conv2d(at: &mut Lowering<'_>, op: &Op, sliding: &Sliding) -> Backward {
    let [x, filter, y] = [op.inputs[0], op.inputs[1], op.outputs[0]];
    let spread = spread(at, op, sliding);
    let element = at.element();
    let [channels, filters] = [x, y].map(|value| at.graph.tensor(value).shape.last() as u64);
    let (cut_bytes, result_bytes) =
        (spread.pixels * channels * element, spread.images * spread.result * filters * element);
    let filter_shape = &at.graph.tensor(filter).shape;
    let window = (filter_shape[0] * filter_shape[1] * filter_shape[2]) as u64;
    let product = Product { pixels: spread.result, window, filters, element };
    let is_depthwise = matches!(op.kind, OpKind::DepthwiseConv2d(_));
    let weight = at.weight(filter);
    let cut = at.fresh("SpaceToBatchND", &[at.tensor(x)], cut_bytes);
    let convolved = at.fresh("Conv2D", &[cut, weight], result_bytes);
    let result = at.fresh("BatchToSpaceND", &[convolved], at.bytes(y));
    at.set(y, result);
    let place = Place::of_next(at);
    Box::new(move |at, dy| {
        at.read_shapes(&[convolved], dy);
        let dy = at.fresh("SpaceToBatchND", &[dy], result_bytes);
        let on_cpu = at.on_cpu();
        let scratch = move |bytes: u64| if on_cpu { vec![bytes] } else { Vec::new() };
        let of_kernel = |at: &mut Lowering<'_>| {
            if at.wants(filter) {
                let unrolled = product.filter_gradient();
                let scratch = scratch(if is_depthwise { at.bytes(filter) * spread.images } else { unrolled });
                let gradient = at.scratchy("Conv2DBackpropFilter", &[cut, dy], at.bytes(filter), &scratch);
                at.give(filter, gradient);
            }
        };
        let of_input = |at: &mut Lowering<'_>| {
            if at.wants(x) {
                let unrolled = product.input_gradient(spread.images);
                let scratch = scratch(if is_depthwise { 0 } else { unrolled });
                let gradient = at.scratchy("Conv2DBackpropInput", &[weight, dy], cut_bytes, &scratch);
                let gradient = at.fresh("BatchToSpaceND", &[gradient], at.bytes(x));
                at.give(x, gradient);
            }
        };
        place.gradients(at, of_kernel, of_input);
    })
}

fn spread(at: &Lowering<'_>, op: &Op, sliding: &Sliding) -> Spread {
    let (image, filter) = (&at.graph.tensor(op.inputs[0]).shape, &at.graph.tensor(op.inputs[1]).shape);
    let mut spread = Spread { images: at.samples(op.inputs[0]), pixels: at.samples(op.inputs[0]), result: 1 };
    for axis in 0..2 {
        let (size, window, dilation) = (image[axis + 1], filter[axis], sliding.dilation[axis].max(1));
        let padding = match sliding.padding {
            Padding::Valid => 0,
            Padding::Same => (window - 1) * dilation,
            Padding::Explicit { before, after } => before[axis] + after[axis],
        };
        let cut = (size + padding).div_ceil(dilation);
        spread.images *= dilation as u64;
        spread.pixels *= (cut * dilation) as u64;
        spread.result *= (cut + 1).saturating_sub(window) as u64;
    }
    spread
}
