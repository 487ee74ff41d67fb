//! Zeros around an image.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Pad;
use serde::{Deserialize, Serialize};

/// So many zeros around the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroPadding2d {
    /// Above and below, then left and right.
    pub padding: [[usize; 2]; 2],
}

impl ZeroPadding2d {
    /// The same on all four sides.
    pub fn new(padding: usize) -> Self {
        Self::uneven(padding, padding)
    }

    /// So many above and left, and so many below and right.
    pub fn uneven(before: usize, after: usize) -> Self {
        Self { padding: [[before, after]; 2] }
    }

    pub(super) fn kind(&self) -> &'static str {
        "zero_padding2d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [[top, bottom], [left, right]] = self.padding;
        let pad = Pad { before: vec![0, top, left, 0], after: vec![0, bottom, right, 0], value: 0.0 };
        Ok(Signal::bare(at.op(pad, &[x.value])?))
    }
}
