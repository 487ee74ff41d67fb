//! The gradients of a depthwise convolution.

use super::{Backward, Contributions};
use plimsoll_graph::op::{DepthwiseConv2d, DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient};

pub(crate) fn gradient(op: &DepthwiseConv2d, at: &mut Backward<'_>) -> Contributions {
    let (x, filter, dy) = (at.input(0), at.input(1), at.gradient());
    let (image, window) = (at.shape(x), at.shape(filter));
    let of_image = DepthwiseConv2dInputGradient { sliding: op.sliding, size: [image[1], image[2]] };
    let dx = at.needs(0).then(|| at.single(of_image, &[dy, filter])).transpose()?;
    let of_filter = DepthwiseConv2dFilterGradient { sliding: op.sliding, window: [window[0], window[1]] };
    let dfilter = at.needs(1).then(|| at.single(of_filter, &[x, dy])).transpose()?;
    Ok(vec![dx, dfilter])
}
