//! The gradient of giving an image another size.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Resize2d, Resize2dGradient};

pub(crate) fn gradient(op: &Resize2d, at: &mut Backward<'_>) -> Contributions {
    let shape = at.shape(at.input(0));
    let rule = Resize2dGradient {
        interpolation: op.interpolation,
        antialias: op.antialias,
        size: [shape[1], shape[2]],
    };
    Ok(vec![Some(at.single(rule, &[at.gradient()])?)])
}
