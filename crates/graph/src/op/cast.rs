//! Changing the element type.

use super::expect::{Inferred, operands};
use crate::samples::Placed;
use crate::{ElementType, TensorType};
use serde::{Deserialize, Serialize};

/// `x -> x` with elements of another type, rounded to nearest even; towards integers it truncates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cast {
    /// The element type of the result.
    pub to: ElementType,
}

impl Cast {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        Ok(vec![TensorType::new(self.to, x.shape.clone())])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
