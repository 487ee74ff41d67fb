//! A sequence of equal vectors.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Broadcast;
use serde::{Deserialize, Serialize};

/// `[batch, features] -> [batch, n, features]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatVector {
    /// The length of the sequence.
    pub n: usize,
}

impl RepeatVector {
    pub(super) fn kind(&self) -> &'static str {
        "repeat_vector"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, features] = at.extents(x.value)?;
        let single = at.reshaped(x.value, [batch, 1, features])?;
        Ok(Signal::bare(at.op(Broadcast { shape: [batch, self.n, features].into() }, &[single])?))
    }
}
