//! Batch normalization over all axes but the last: for training, for inference, and its gradient.

use super::expect::{Inferred, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x [...,c], gamma [c], beta [c]) -> (y, mean [c], variance [c])` with the statistics of this batch; the
/// variance is the biased one, as in Keras. The statistics carry no gradient of their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNorm {
    /// Added to the variance.
    pub epsilon: f32,
}

/// `(x [...,c], gamma, beta, mean, variance) -> y` with the given statistics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNormInference {
    /// Added to the variance.
    pub epsilon: f32,
}

/// `(x, gamma, mean, variance, dy) -> (dx, dgamma, dbeta)` of [`BatchNorm`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNormGradient {
    /// Added to the variance.
    pub epsilon: f32,
}

impl BatchNorm {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, gamma, beta] = operands(inputs)?;
        let channels = per_channel(x, &[("gamma", gamma), ("beta", beta)])?;
        Ok(vec![x.clone(), channels.clone(), channels])
    }

    /// The statistics are those of all samples together.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

impl BatchNormInference {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, gamma, beta, mean, variance] = operands(inputs)?;
        per_channel(x, &[("gamma", gamma), ("beta", beta), ("the mean", mean), ("the variance", variance)])?;
        Ok(vec![x.clone()])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}

impl BatchNormGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, gamma, mean, variance, dy] = operands(inputs)?;
        floats(&[dy])?;
        let channels = per_channel(x, &[("gamma", gamma), ("the mean", mean), ("the variance", variance)])?;
        shape("the gradient", dy, x.shape.clone())?;
        Ok(vec![x.clone(), channels.clone(), channels])
    }

    /// The statistics are those of all samples together.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

/// Checks that each vector has one element a channel of `x`, and gives the type of such a vector.
fn per_channel(x: &TensorType, vectors: &[(&str, &TensorType)]) -> Result<TensorType, String> {
    floats(&[x])?;
    for (what, vector) in vectors {
        floats(&[vector])?;
        shape(what, vector, [x.shape.last()])?;
    }
    Ok(x.reshaped([x.shape.last()]))
}
