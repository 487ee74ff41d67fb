//! Softmax over any one axis.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op;
use serde::{Deserialize, Serialize};

/// `e^x / sum(e^x)` along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Softmax {
    /// Counted from the end if negative; the batch is axis 0.
    pub axis: isize,
}

impl Default for Softmax {
    fn default() -> Self {
        Self { axis: -1 }
    }
}

impl Softmax {
    pub(super) fn kind(&self) -> &'static str {
        "softmax"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let axis = at.axis(self.axis, x.value)?;
        let turned = at.exchanged(x.value, axis)?;
        let turned = at.op(op::Softmax {}, &[turned])?;
        let result = at.exchanged(turned, axis)?;
        at.made_from_logits(result, x.value);
        Ok(x.with(result))
    }
}
