//! Max and average pooling of sequences: that of images of one row.

use super::conv1d::{as_row, as_sequence};
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Padding, Pool, Pool2d, Sliding};
use serde::{Deserialize, Serialize};

/// The largest element or the mean of each window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pooling1d {
    /// What is kept.
    pub pool: Pool,
    /// Positions of the window.
    pub pool_size: usize,
    /// Steps between neighbouring windows.
    pub strides: usize,
    /// What surrounds the sequence.
    pub padding: Padding,
}

impl Pooling1d {
    /// Max pooling by windows that touch each other.
    pub fn max(window: usize) -> Self {
        Self { pool: Pool::Max, pool_size: window, strides: window, padding: Padding::Valid }
    }

    /// Average pooling by windows that touch each other.
    pub fn average(window: usize) -> Self {
        Self { pool: Pool::Average, ..Self::max(window) }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.pool {
            Pool::Max => "max_pooling1d",
            Pool::Average => "average_pooling1d",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let row = as_row(at, x.value)?;
        let sliding = Sliding { strides: [1, self.strides], padding: self.padding, ..Sliding::default() };
        let pooling = Pool2d { pool: self.pool, window: [1, self.pool_size], sliding };
        let pooled = at.op(pooling, &[row])?;
        Ok(Signal::bare(as_sequence(at, pooled)?))
    }
}
