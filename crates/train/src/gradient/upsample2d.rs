//! The gradient of enlarging an image.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Upsample2d, Upsample2dGradient};

pub(crate) fn gradient(op: &Upsample2d, at: &mut Backward<'_>) -> Contributions {
    Ok(vec![Some(at.single(Upsample2dGradient(*op), &[at.gradient()])?)])
}
