//! The gradient of dropout: the same elements dropped, by the same mask, made again.

use super::{Backward, Contributions};
use plimsoll_graph::op::Dropout;

pub(crate) fn gradient(op: &Dropout, at: &mut Backward<'_>) -> Contributions {
    let (dy, step) = (at.gradient(), at.input(1));
    Ok(vec![Some(at.single(*op, &[dy, step])?), None])
}
