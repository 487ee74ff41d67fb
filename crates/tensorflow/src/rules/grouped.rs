//! Grouped convolutions, which Keras hands to XLA: each is one compiled function forward and one backward.
//!
//! Evidence, from traces of five grouped convolutions and of ConvNeXt: forward it gives copies of its image and its
//! filter beside the result; backward it has a buffer as large as the gradient and the filter together. Where a group
//! has one channel, the filter's gradient is computed as if every channel met every other: ConvNeXt's last depthwise
//! convolutions take 220 MiB, whatever the batch.

use super::place::Place;
use crate::lowering::{Backward, Call, Lowering};
use plimsoll_graph::{Op, OpKind, Source};

/// Whether a depthwise convolution is Keras's `Conv2D` with a group for every channel: our graphs have the same op for
/// both, here with a kernel that is reshaped.
pub fn is_conv2d(at: &Lowering<'_>, op: &Op) -> bool {
    let Source::Op(kernel) = at.graph.value(op.inputs[1]).source else { return false };
    matches!(at.graph.op(kernel).kind, OpKind::Reshape(_))
}

/// Both gradients come from one function. `dense` is how many times the filter its gradient is unrolled to.
pub fn conv2d(at: &mut Lowering<'_>, op: &Op, dense: u64) -> Backward {
    let [x, filter, y] = [op.inputs[0], op.inputs[1], op.outputs[0]];
    let weight = at.weight(filter);
    let operands = [at.tensor(x), weight];
    let result = at.fresh("XlaLaunch", &operands, at.bytes(y));
    let image = at.fresh("XlaLaunch", &operands, at.bytes(x));
    let weight = at.fresh("XlaLaunch", &operands, at.bytes(filter));
    at.set(y, result);
    let place = Place::of_next(at);
    Box::new(move |at, dy| {
        let unrolled = at.bytes(filter) * dense;
        let scratch = [unrolled + unrolled.max(at.bytes(y))];
        let launch = |at: &mut Lowering<'_>| {
            let reads = [image, weight, dy];
            let of_filter = at.fresh("XlaLaunch", &reads, at.bytes(filter));
            let bytes = if at.wants(x) { at.bytes(x) } else { 0 };
            let reads = [image, weight, dy, of_filter];
            let of_input = at.call(Call {
                name: "XlaLaunch",
                reads: &reads,
                bytes,
                scratch: &scratch,
                ..Call::default()
            });
            at.give(filter, of_filter);
            at.give(x, of_input);
        };
        place.gradients(at, |_| (), launch);
    })
}
