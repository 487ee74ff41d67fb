//! Batch normalization over all axes but one.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{BatchNorm, BatchNormInference, Fill};
use plimsoll_graph::{Init, ShapeError, TensorType, ValueId};
use serde::{Deserialize, Serialize};

/// Channels of mean 0 and variance 1, then scaled and moved. In training the statistics are those of the batch,
/// and their moving averages are kept for inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNormalization {
    /// The axis of the channels; counted from the end if negative.
    pub axis: isize,
    /// How much of the old moving average stays.
    pub momentum: f32,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether `beta` is added.
    pub center: bool,
    /// Whether `gamma` multiplies.
    pub scale: bool,
}

impl Default for BatchNormalization {
    fn default() -> Self {
        Self { axis: -1, momentum: 0.99, epsilon: 1e-3, center: true, scale: true }
    }
}

impl BatchNormalization {
    /// The same with another epsilon.
    pub fn epsilon(self, epsilon: f32) -> Self {
        Self { epsilon, ..self }
    }

    /// The same with another momentum.
    pub fn momentum(self, momentum: f32) -> Self {
        Self { momentum, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "batch_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        if x.mask.is_some() && at.is_learning() {
            let problem = "statistics of a batch with padding are not supported";
            return Err(at.refusal(&[x.value], problem.to_string()));
        }
        let axis = at.axis(self.axis, x.value)?;
        if axis == 0 {
            return Err(at.refusal(&[x.value], "there is no axis of features".to_string()));
        }
        let turned = at.exchanged(x.value, axis)?;
        let result = self.over_last_axis(at, turned)?;
        Ok(x.with(at.exchanged(result, axis)?))
    }

    fn over_last_axis(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let channels = at.features(x)?;
        let gamma = scale_or_ones(at, self.scale, channels)?;
        let beta = center_or_zeros(at, self.center, channels)?;
        let mean = at.statistic("moving_mean", TensorType::f32([channels]), 0.0)?;
        let variance = at.statistic("moving_variance", TensorType::f32([channels]), 1.0)?;
        if !at.is_learning() {
            let norm = BatchNormInference { epsilon: self.epsilon };
            return at.op(norm, &[x, gamma, beta, mean, variance]);
        }
        let outputs = at.ops(BatchNorm { epsilon: self.epsilon }, &[x, gamma, beta])?;
        at.follow(mean, self.momentum, outputs[1])?;
        at.follow(variance, self.momentum, outputs[2])?;
        Ok(outputs[0])
    }
}

/// The parameter `gamma`, or ones where nothing is learned.
pub(super) fn scale_or_ones(at: &mut Context<'_>, scale: bool, extent: usize) -> Result<ValueId, ShapeError> {
    learned_or_constant(at, scale.then_some("gamma"), extent, 1.0)
}

/// The parameter `beta`, or zeros where nothing is learned.
pub(super) fn center_or_zeros(
    at: &mut Context<'_>,
    center: bool,
    extent: usize,
) -> Result<ValueId, ShapeError> {
    learned_or_constant(at, center.then_some("beta"), extent, 0.0)
}

fn learned_or_constant(
    at: &mut Context<'_>,
    name: Option<&str>,
    extent: usize,
    value: f32,
) -> Result<ValueId, ShapeError> {
    match name {
        Some(name) => at.parameter(name, [extent], Init::Constant(value)),
        None => at.op(Fill { shape: [extent].into(), value }, &[]),
    }
}
