//! Random numbers of the uniform distribution.

use super::expect::{Inferred, integers, operands, shape};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `step i32[] -> f32[shape]` in `[0, 1)`, other numbers at every step.
///
/// Element `i` is a function of the seed, the step and `i` alone (as in [`Dropout`](super::Dropout)), so the same
/// numbers can be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomUniform {
    /// The shape of the result.
    pub shape: Shape,
    /// Distinguishes the random numbers of one model.
    pub seed: u64,
}

impl RandomUniform {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [step] = operands(inputs)?;
        integers(step)?;
        shape("the step", step, [])?;
        Ok(vec![TensorType::f32(self.shape.clone())])
    }

    /// Every sample has draws of its own.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
