//! The gradients of pooling.

use super::{Backward, Contributions};
use plimsoll_graph::op::{AveragePool2dGradient, MaxPool2dGradient, Pool, Pool2d};

pub(crate) fn gradient(op: &Pool2d, at: &mut Backward<'_>) -> Contributions {
    let (x, y, dy) = (at.input(0), at.output(0), at.gradient());
    let Pool2d { window, sliding, .. } = *op;
    let image = at.shape(x);
    let dx = match op.pool {
        Pool::Max => at.single(MaxPool2dGradient { window, sliding }, &[x, y, dy])?,
        Pool::Average => {
            at.single(AveragePool2dGradient { window, sliding, size: [image[1], image[2]] }, &[dy])?
        }
    };
    Ok(vec![Some(dx)])
}
