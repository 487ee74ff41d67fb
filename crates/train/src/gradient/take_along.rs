//! The gradient of taking elements by their positions: each goes back to where it came from. Positions have none.

use super::{Backward, Contributions};
use plimsoll_graph::op::{TakeAlong, TakeAlongGradient};

pub(crate) fn gradient(_op: &TakeAlong, at: &mut Backward<'_>) -> Contributions {
    let extent = at.shape(at.input(0)).last();
    let dx = at.single(TakeAlongGradient { extent }, &[at.input(1), at.gradient()])?;
    Ok(vec![Some(dx), None])
}
