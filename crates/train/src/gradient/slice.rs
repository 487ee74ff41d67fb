//! The gradient of cutting out a block: zeros around it.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Pad, Slice};

pub(crate) fn gradient(op: &Slice, at: &mut Backward<'_>) -> Contributions {
    let shape = at.shape(at.input(0));
    let after = (0..shape.rank()).map(|axis| shape[axis] - op.start[axis] - op.size[axis]).collect();
    let dy = at.gradient();
    Ok(vec![Some(at.single(Pad { before: op.start.clone(), after, value: 0.0 }, &[dy])?)])
}
