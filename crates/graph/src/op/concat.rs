//! Joining tensors along an axis.

use super::expect::{Inferred, ensure};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `(a, b, ...) -> ` all of them one after another along the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concat {
    /// Counted from the outermost.
    pub axis: usize,
}

impl Concat {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [first, rest @ ..] = inputs else { return Err("there is nothing to join".to_string()) };
        ensure(self.axis < first.shape.rank(), || format!("there is no axis {}", self.axis))?;
        let mut extents = first.shape.extents().to_vec();
        for other in rest {
            let mut aligned = other.shape.extents().to_vec();
            ensure(aligned.len() == extents.len(), || "the ranks differ".to_string())?;
            aligned[self.axis] = extents[self.axis];
            let agree = aligned == extents && other.element == first.element;
            ensure(agree, || format!("{first} and {other} differ in more than axis {}", self.axis))?;
            extents[self.axis] += other.shape[self.axis];
        }
        Ok(vec![first.reshaped(Shape::new(extents))])
    }

    /// Joined along the samples, those of the second would follow those of the first.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outputs[0].axis != Some(self.axis)
    }
}
