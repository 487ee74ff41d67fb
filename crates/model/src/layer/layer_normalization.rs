//! Layer normalization over the last axis.

use super::batch_normalization::{center_or_zeros, scale_or_ones};
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::LayerNorm;
use serde::{Deserialize, Serialize};

/// Rows of mean 0 and variance 1, then scaled and moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerNormalization {
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether `beta` is added.
    pub center: bool,
    /// Whether `gamma` multiplies.
    pub scale: bool,
}

impl Default for LayerNormalization {
    fn default() -> Self {
        Self { epsilon: 1e-3, center: true, scale: true }
    }
}

impl LayerNormalization {
    /// The same with another epsilon.
    pub fn epsilon(self, epsilon: f32) -> Self {
        Self { epsilon, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "layer_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let features = at.features(x.value)?;
        let gamma = scale_or_ones(at, self.scale, features)?;
        let beta = center_or_zeros(at, self.center, features)?;
        Ok(x.with(at.op(LayerNorm { epsilon: self.epsilon }, &[x.value, gamma, beta])?))
    }
}
