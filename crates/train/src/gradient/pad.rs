//! The gradient of padding: the block inside.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Pad, Slice};

pub(crate) fn gradient(op: &Pad, at: &mut Backward<'_>) -> Contributions {
    let size = at.shape(at.input(0)).extents().to_vec();
    let dy = at.gradient();
    Ok(vec![Some(at.single(Slice { start: op.before.clone(), size }, &[dy])?)])
}
