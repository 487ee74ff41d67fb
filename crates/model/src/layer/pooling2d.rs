//! Max and average pooling of images.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Padding, Pool, Pool2d, Sliding};
use serde::{Deserialize, Serialize};

/// The largest element or the mean of each window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pooling2d {
    /// What is kept.
    pub pool: Pool,
    /// Rows and columns of the window.
    pub pool_size: [usize; 2],
    /// Steps between neighbouring windows.
    pub strides: [usize; 2],
    /// What surrounds the image.
    pub padding: Padding,
}

impl Pooling2d {
    /// Max pooling by square windows that touch each other.
    pub fn max(window: usize) -> Self {
        Self { pool: Pool::Max, pool_size: [window; 2], strides: [window; 2], padding: Padding::Valid }
    }

    /// Average pooling by square windows that touch each other.
    pub fn average(window: usize) -> Self {
        Self { pool: Pool::Average, ..Self::max(window) }
    }

    /// The same with these steps in both directions.
    pub fn strides(self, stride: usize) -> Self {
        Self { strides: [stride; 2], ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.pool {
            Pool::Max => "max_pooling2d",
            Pool::Average => "average_pooling2d",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let sliding = Sliding { strides: self.strides, padding: self.padding, ..Sliding::default() };
        let pooling = Pool2d { pool: self.pool, window: self.pool_size, sliding };
        Ok(Signal::bare(at.op(pooling, &[x.value])?))
    }
}
