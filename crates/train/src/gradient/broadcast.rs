//! The gradient of stretching: the sum over what was stretched.

use super::binary::unstretched;
use super::{Backward, Contributions};
use plimsoll_graph::op::Broadcast;

pub(crate) fn gradient(_op: &Broadcast, at: &mut Backward<'_>) -> Contributions {
    let (x, dy) = (at.input(0), at.gradient());
    Ok(vec![Some(unstretched(at, dy, x)?)])
}
