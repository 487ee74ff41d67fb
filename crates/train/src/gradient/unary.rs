//! The gradients of elementwise functions of one number.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Saved, Unary, UnaryGradient};

pub(crate) fn gradient(op: &Unary, at: &mut Backward<'_>) -> Contributions {
    let dy = at.gradient();
    let dx = match (op.saved(), op) {
        (Saved::Input, _) => at.single(UnaryGradient(*op), &[at.input(0), dy])?,
        (Saved::Output, _) => at.single(UnaryGradient(*op), &[at.output(0), dy])?,
        (Saved::Nothing, Unary::AddScalar(_)) => dy,
        // The others are linear: their gradient is what they are.
        (Saved::Nothing, _) => at.single(*op, &[dy])?,
    };
    Ok(vec![Some(dx)])
}
