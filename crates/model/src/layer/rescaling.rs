//! Pixels in another range.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Unary;
use serde::{Deserialize, Serialize};

/// `x scale + offset`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rescaling {
    /// The factor.
    pub scale: f32,
    /// What is added after it.
    pub offset: f32,
}

impl Rescaling {
    pub(super) fn kind(&self) -> &'static str {
        "rescaling"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let scaled = at.op(Unary::MultiplyScalar(self.scale), &[x.value])?;
        match self.offset {
            0.0 => Ok(x.with(scaled)),
            offset => Ok(x.with(at.op(Unary::AddScalar(offset), &[scaled])?)),
        }
    }
}
