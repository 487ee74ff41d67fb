//! The order of elements by their size.

use super::expect::{Inferred, ensure, floats, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `x -> i32`, along the last axis: the position of the smallest element (or the largest), of the next, and so on. Of
/// equal elements the first comes first; NaNs come last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgSort {
    /// Whether the largest comes first.
    pub descending: bool,
}

impl ArgSort {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        ensure(x.shape.rank() > 0, || "a scalar has no order".to_string())?;
        Ok(vec![TensorType::i32(x.shape.clone())])
    }

    /// Samples meet where they stand along the last axis.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}
