//! The gradient of joining: each input gets its part.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Concat, Slice};

pub(crate) fn gradient(op: &Concat, at: &mut Backward<'_>) -> Contributions {
    let dy = at.gradient();
    let mut start = vec![0; at.shape(dy).rank()];
    let mut contributions = Vec::new();
    for index in 0..at.input_count() {
        let size = at.shape(at.input(index)).extents().to_vec();
        let extent = size[op.axis];
        let part = Slice { start: start.clone(), size };
        contributions.push(at.needs(index).then(|| at.single(part, &[dy])).transpose()?);
        start[op.axis] += extent;
    }
    Ok(contributions)
}
