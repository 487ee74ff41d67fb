//! The gradient of reordering axes: the inverse order.

use super::{Backward, Contributions};
use plimsoll_graph::op::Transpose;

pub(crate) fn gradient(op: &Transpose, at: &mut Backward<'_>) -> Contributions {
    let mut order = vec![0; op.order.len()];
    for (to, &from) in op.order.iter().enumerate() {
        order[from] = to;
    }
    let dy = at.gradient();
    Ok(vec![Some(at.single(Transpose { order }, &[dy])?)])
}
