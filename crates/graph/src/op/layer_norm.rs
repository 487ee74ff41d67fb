//! Layer normalization over the last axis, with its gradient.

use super::expect::{Inferred, floats, operands, shape};
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
}

fn rows(x: &TensorType) -> Result<Shape, String> {
    let (_, outer) = x.shape.extents().split_last().ok_or("a scalar has no axis to normalize")?;
    Ok(Shape::new(outer))
}
