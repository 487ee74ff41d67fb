//! A learned factor a channel (Touvron et al. 2021), as in ConvNeXt.

use super::{Context, Lowered, Signal};
use plimsoll_graph::Init;
use plimsoll_graph::op::Binary;
use serde::{Deserialize, Serialize};

/// `x gamma` along the last axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerScale {
    /// How every factor starts.
    pub init_values: f32,
    /// The number of channels.
    pub projection_dim: usize,
}

impl LayerScale {
    pub(super) fn kind(&self) -> &'static str {
        "layer_scale"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let channels = at.features(x.value)?;
        if channels != self.projection_dim {
            let problem = format!("it has {} factors for {channels} channels", self.projection_dim);
            return Err(at.refusal(&[x.value], problem));
        }
        let gamma = at.parameter("gamma", [channels], Init::Constant(self.init_values))?;
        Ok(x.with(at.op(Binary::Multiply, &[x.value, gamma])?))
    }
}
