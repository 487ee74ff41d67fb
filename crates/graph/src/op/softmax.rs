//! Softmax and its logarithm over the last axis, with their gradients.

use super::expect::{Inferred, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `x -> e^x / sum(e^x)` along the last axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Softmax {}

/// `(y, dy) -> dx` of [`Softmax`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoftmaxGradient {}

/// `x -> x - log(sum(e^x))` along the last axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSoftmax {}

/// `(y, dy) -> dx` of [`LogSoftmax`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSoftmaxGradient {}

impl Softmax {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        same(operands(inputs)?)
    }

    /// A row may be a part of a sample, not the other way round.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

impl SoftmaxGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        pair(operands(inputs)?)
    }

    /// A row may be a part of a sample, not the other way round.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

impl LogSoftmax {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        same(operands(inputs)?)
    }

    /// A row may be a part of a sample, not the other way round.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

impl LogSoftmaxGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        pair(operands(inputs)?)
    }

    /// A row may be a part of a sample, not the other way round.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}

fn same([x]: [&TensorType; 1]) -> Inferred {
    floats(&[x])?;
    Ok(vec![x.clone()])
}

fn pair([y, dy]: [&TensorType; 2]) -> Inferred {
    floats(&[y, dy])?;
    shape("the gradient", dy, y.shape.clone())?;
    Ok(vec![y.clone()])
}
