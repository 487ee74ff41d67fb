//! The gradients of a convolution: the image gets a transposed convolution, the filter an op of its own.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Conv2d, Conv2dFilterGradient, TransposedConv2d};

pub(crate) fn gradient(op: &Conv2d, at: &mut Backward<'_>) -> Contributions {
    let (x, filter, dy) = (at.input(0), at.input(1), at.gradient());
    let (image, window) = (at.shape(x), at.shape(filter));
    let transposed = TransposedConv2d { conv: *op, size: [image[1], image[2]] };
    let dx = at.needs(0).then(|| at.single(transposed, &[dy, filter])).transpose()?;
    let of_filter = Conv2dFilterGradient { conv: *op, window: [window[0], window[1]] };
    let dfilter = at.needs(1).then(|| at.single(of_filter, &[x, dy])).transpose()?;
    Ok(vec![dx, dfilter])
}
