//! The moving statistics of batch normalization.

use super::expect::{Inferred, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(moving, batch) -> moving * momentum + batch * (1 - momentum)`, in the place of `moving`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovingAverage {
    /// How much of the old value stays.
    pub momentum: f32,
}

impl MovingAverage {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [moving, batch] = operands(inputs)?;
        floats(&[moving, batch])?;
        shape("the batch's statistic", batch, moving.shape.clone())?;
        Ok(vec![moving.clone()])
    }

    /// What is remembered is of all samples.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
