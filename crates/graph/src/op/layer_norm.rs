//! Layer normalization over the last axis, with its gradient.

use super::expect::{Inferred, floats, operands, shape};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `(x [...,c], gamma [c], beta [c]) -> (y, mean [...], inverse_deviation [...])`; the last two serve the gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerNorm {
    /// Added to the variance.
    pub epsilon: f32,
}

/// `(x, gamma, mean, inverse_deviation, dy) -> (dx, dgamma, dbeta)` of [`LayerNorm`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerNormGradient {}

impl LayerNorm {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, gamma, beta] = operands(inputs)?;
        floats(&[x, gamma, beta])?;
        shape("gamma", gamma, [x.shape.last()])?;
        shape("beta", beta, [x.shape.last()])?;
        let rows = x.reshaped(rows(x)?);
        Ok(vec![x.clone(), rows.clone(), rows])
    }

    /// A row may be a part of a sample, not the other way round.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

impl LayerNormGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, gamma, mean, inverse_deviation, dy] = operands(inputs)?;
        floats(&[x, gamma, mean, inverse_deviation, dy])?;
        shape("gamma", gamma, [x.shape.last()])?;
        shape("the mean", mean, rows(x)?)?;
        shape("the inverse deviation", inverse_deviation, rows(x)?)?;
        shape("the gradient", dy, x.shape.clone())?;
        Ok(vec![x.clone(), gamma.clone(), gamma.clone()])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

fn rows(x: &TensorType) -> Result<Shape, String> {
    let (_, outer) = x.shape.extents().split_last().ok_or("a scalar has no axis to normalize")?;
    Ok(Shape::new(outer))
}
