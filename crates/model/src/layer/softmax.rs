//! Softmax over any one axis.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{self, Binary};
use plimsoll_graph::{ShapeError, ValueId};
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
        let Some(mask) = x.mask else {
            let result = self.apply(at, x.value)?;
            at.made_from_logits(result, x.value);
            return Ok(x.with(result));
        };
        let shape = at.shape(x.value).clone();
        if at.shape(mask).broadcast(&shape).as_ref() != Some(&shape) {
            let problem = format!("Keras does not take a mask of shape {} here", at.shape(mask));
            return Err(at.refusal(&[x.value], problem));
        }
        let seen = at.masked_scores(x.value, mask)?;
        let result = self.apply(at, seen)?;
        Ok(x.with(at.op(Binary::Multiply, &[result, mask])?))
    }

    fn apply(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let axis = at.axis(self.axis, x)?;
        let turned = at.exchanged(x, axis)?;
        let turned = at.op(op::Softmax {}, &[turned])?;
        at.exchanged(turned, axis)
    }
}
