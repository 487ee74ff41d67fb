//! A tensor that does not change, written out.

use super::expect::{Inferred, ensure, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `() -> f32[shape]` with the given elements. For tensors whose elements are all the same there is [`super::Fill`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// The shape of the result.
    pub shape: Shape,
    /// The elements, row by row; all of them finite.
    pub values: Vec<f32>,
}

impl Constant {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [] = operands(inputs)?;
        let fits = self.shape.is_reasonable() && self.shape.elements() == self.values.len();
        ensure(fits, || format!("{} elements do not fill {}", self.values.len(), self.shape))?;
        ensure(self.values.iter().all(|x| x.is_finite()), || "an element is not finite".to_string())?;
        Ok(vec![TensorType::f32(self.shape.clone())])
    }

    /// The same for every sample.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
