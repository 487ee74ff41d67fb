//! The gradient of reshaping: reshaping back.

use super::{Backward, Contributions};
use plimsoll_graph::op::Reshape;

pub(crate) fn gradient(_op: &Reshape, at: &mut Backward<'_>) -> Contributions {
    let shape = at.shape(at.input(0));
    let dy = at.gradient();
    Ok(vec![Some(at.single(Reshape { shape }, &[dy])?)])
}
