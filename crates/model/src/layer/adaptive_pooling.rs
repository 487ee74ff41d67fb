//! Pooling to a given number of windows, whatever the extent.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Concat, Pool, Reduce, Reduction, Slice};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// So many windows along each axis between batch and channels; window `i` goes from `floor(i extent / count)` to
/// `ceil((i + 1) extent / count)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdaptivePooling {
    /// What is kept of a window.
    pub pool: Pool,
    /// The number of windows along each axis.
    pub output_size: Vec<usize>,
}

impl AdaptivePooling {
    pub(super) fn kind(&self) -> &'static str {
        match self.pool {
            Pool::Max => "adaptive_max_pooling",
            Pool::Average => "adaptive_average_pooling",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let rank = at.shape(x.value).rank();
        if rank != self.output_size.len() + 2 || self.output_size.contains(&0) {
            let problem = format!("{:?} windows do not go with rank {rank}", self.output_size);
            return Err(at.refusal(&[x.value], problem));
        }
        let mut y = at.float(x.value)?;
        for (position, &count) in self.output_size.iter().enumerate() {
            y = self.along(at, y, position + 1, count)?;
        }
        Ok(Signal::bare(y))
    }

    fn along(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        axis: usize,
        count: usize,
    ) -> Result<ValueId, ShapeError> {
        let extents = at.shape(x).extents().to_vec();
        let extent = extents[axis];
        let reduction = match self.pool {
            Pool::Max => Reduction::Max,
            Pool::Average => Reduction::Mean,
        };
        if extent.is_multiple_of(count) {
            let split = [&extents[..axis], &[count, extent / count], &extents[axis + 1..]].concat();
            let split = at.reshaped(x, Shape::new(split))?;
            return at.op(Reduce { reduction, axes: vec![axis + 1], keep_axes: false }, &[split]);
        }
        let mut windows = Vec::with_capacity(count);
        for window in 0..count {
            let (first, last) = (window * extent / count, ((window + 1) * extent).div_ceil(count));
            let (mut start, mut size) = (vec![0; extents.len()], extents.clone());
            (start[axis], size[axis]) = (first, last - first);
            let part = at.op(Slice { start, size }, &[x])?;
            windows.push(at.op(Reduce { reduction, axes: vec![axis], keep_axes: true }, &[part])?);
        }
        if count > 1 { at.op(Concat { axis }, &windows) } else { Ok(windows[0]) }
    }
}
