//! The moving statistics of batch normalization.

use super::expect::{Inferred, floats, operands_and_optional, shape};
use super::update::check_gate;
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(moving, batch, gate f32[]?) -> moving * momentum + batch * (1 -
/// momentum)`, in the place of `moving`; where the gate is 0, `moving` as it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovingAverage {
    /// How much of the old value stays.
    pub momentum: f32,
}

impl MovingAverage {
    /// Where the gate stands among the inputs, if there is one.
    pub fn gate(&self) -> usize {
        2
    }

    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([moving, batch], gate) = operands_and_optional(inputs)?;
        check_gate(gate)?;
        floats(&[moving, batch])?;
        shape("the batch's statistic", batch, moving.shape.clone())?;
        Ok(vec![moving.clone()])
    }

    /// What is remembered is of all samples.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
