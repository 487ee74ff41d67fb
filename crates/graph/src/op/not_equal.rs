//! The mask of positions that are not padding.

use super::expect::{Inferred, integers, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `ids i32[...] -> 1.0` where the id differs from `value`, else 0.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotEqual {
    /// The id that stands for padding.
    pub value: i32,
}

impl NotEqual {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [ids] = operands(inputs)?;
        integers(ids)?;
        Ok(vec![TensorType::f32(ids.shape.clone())])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
