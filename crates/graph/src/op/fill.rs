//! A constant.

use super::expect::{Inferred, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `() -> f32[shape]`, every element the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// The shape of the result.
    pub shape: Shape,
    /// Every element.
    pub value: f32,
}

impl Fill {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [] = operands(inputs)?;
        Ok(vec![TensorType::f32(self.shape.clone())])
    }

    /// The same for every sample.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
