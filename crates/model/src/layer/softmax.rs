//! Softmax over any one axis.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{self, Transpose};
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
        let last = at.axis(-1, x.value)?;
        let axis = at.axis(self.axis, x.value)?;
        if axis == last {
            return Ok(x.with(at.op(op::Softmax {}, &[x.value])?));
        }
        // Exchanging two axes undoes itself.
        let mut order: Vec<usize> = (0..=last).collect();
        order.swap(axis, last);
        let exchange = Transpose { order };
        let turned = at.op(exchange.clone(), &[x.value])?;
        let turned = at.op(op::Softmax {}, &[turned])?;
        Ok(x.with(at.op(exchange, &[turned])?))
    }
}
