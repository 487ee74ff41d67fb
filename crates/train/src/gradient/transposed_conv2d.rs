//! The gradients of a transposed convolution: those of the convolution with image and gradient in each other's place.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Conv2dFilterGradient, TransposedConv2d};

pub(crate) fn gradient(op: &TransposedConv2d, at: &mut Backward<'_>) -> Contributions {
    let (x, filter, dy) = (at.input(0), at.input(1), at.gradient());
    let window = at.shape(filter);
    let dx = at.needs(0).then(|| at.single(op.conv, &[dy, filter])).transpose()?;
    let of_filter = Conv2dFilterGradient { conv: op.conv, window: [window[0], window[1]] };
    let dfilter = at.needs(1).then(|| at.single(of_filter, &[dy, x])).transpose()?;
    Ok(vec![dx, dfilter])
}
