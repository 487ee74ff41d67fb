//! A residual connection with a weakened branch (Szegedy et al. 2016), as Keras's InceptionResNetV2 has it.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Unary};
use serde::{Deserialize, Serialize};

/// `(x, branch) -> x + scale branch`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomScaleLayer {
    /// The factor of the branch.
    pub scale: f32,
}

impl CustomScaleLayer {
    pub(super) fn kind(&self) -> &'static str {
        "custom_scale_layer"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x, branch] = at.operands(inputs)?;
        let scaled = at.op(Unary::MultiplyScalar(self.scale), &[branch.value])?;
        Ok(Signal::bare(at.op(Binary::Add, &[x.value, scaled])?))
    }
}
