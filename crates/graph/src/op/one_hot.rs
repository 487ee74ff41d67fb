//! Classes as vectors.

use super::expect::{Inferred, ensure, integers, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `ids i32[...] -> f32[..., depth]`: 1 at the place the id says, else 0. An id outside of them is 0 everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneHot {
    /// The number of classes.
    pub depth: usize,
}

impl OneHot {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [ids] = operands(inputs)?;
        integers(ids)?;
        ensure(self.depth > 0, || "there are no classes".to_string())?;
        Ok(vec![TensorType::f32(Shape::new([ids.shape.extents(), &[self.depth]].concat()))])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
