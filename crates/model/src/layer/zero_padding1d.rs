//! Zeros around a sequence.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Pad;
use serde::{Deserialize, Serialize};

/// So many zeros before and after the sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroPadding1d {
    /// Before and after.
    pub padding: [usize; 2],
}

impl ZeroPadding1d {
    pub(super) fn kind(&self) -> &'static str {
        "zero_padding1d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [before, after] = self.padding;
        let pad = Pad { before: vec![0, before, 0], after: vec![0, after, 0], value: 0.0 };
        Ok(Signal::bare(at.op(pad, &[x.value])?))
    }
}
