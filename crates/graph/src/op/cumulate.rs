//! Sums and products of everything up to an element.

use super::expect::{Inferred, ensure, floats, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `x -> y`, along the last axis: `y[i]` is what `x[0], ..., x[i]` come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cumulate {
    /// Whether elements are multiplied and not added.
    pub product: bool,
    /// Whether `x[i]` itself is left out: the first result is 0, or 1 for products.
    pub exclusive: bool,
    /// Whether it goes from the last element to the first.
    pub reverse: bool,
}

impl Cumulate {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        ensure(x.shape.rank() > 0, || "a scalar has no axis to go along".to_string())?;
        Ok(vec![x.clone()])
    }

    /// Samples meet where they stand along the last axis.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.not_last()
    }
}
