//! Reordering the axes of samples.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Transpose;
use serde::{Deserialize, Serialize};

/// The axes of each sample in another order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permute {
    /// Which axis stands at each position; they count from 1, since 0 is the batch.
    pub dims: Vec<usize>,
}

impl Permute {
    pub(super) fn kind(&self) -> &'static str {
        "permute"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let order = [&[0], self.dims.as_slice()].concat();
        Ok(Signal::bare(at.op(Transpose { order }, &[x.value])?))
    }
}
