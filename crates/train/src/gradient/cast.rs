//! The gradient of a cast: a cast back.

use super::{Backward, Contributions};
use plimsoll_graph::op::Cast;

pub(crate) fn gradient(_op: &Cast, at: &mut Backward<'_>) -> Contributions {
    let (to, dy) = (at.element(at.input(0)), at.gradient());
    Ok(vec![Some(at.single(Cast { to }, &[dy])?)])
}
