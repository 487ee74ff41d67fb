//! Whether everything is a number.

use super::expect::{Inferred, ensure, floats};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(a, b, ...) -> f32[]`: 1 if no element of any of them is infinite or not a number, else 0. Updates read it as their
/// gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllFinite {}

impl AllFinite {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        ensure(!inputs.is_empty(), || "there is nothing to look at".to_string())?;
        floats(&inputs.iter().collect::<Vec<_>>())?;
        Ok(vec![TensorType::f32([])])
    }

    /// It looks at all samples.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
