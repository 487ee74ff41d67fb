//! Cutting a block out of a tensor; cropping an image is a slice.

use super::expect::{Inferred, ensure, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `x -> x[start[0] .. start[0] + size[0], ...]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The first index along each axis.
    pub start: Vec<usize>,
    /// The extent along each axis.
    pub size: Vec<usize>,
}

impl Slice {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        let rank = x.shape.rank();
        ensure(self.start.len() == rank && self.size.len() == rank, || {
            format!("the slice is not of rank {rank}")
        })?;
        for axis in 0..rank {
            let end = self.start[axis].checked_add(self.size[axis]);
            let inside = end.is_some_and(|end| end <= x.shape[axis]) && self.size[axis] > 0;
            ensure(inside, || format!("{} from {} leaves axis {axis}", self.size[axis], self.start[axis]))?;
        }
        Ok(vec![x.reshaped(Shape::new(self.size.clone()))])
    }

    /// No sample may be left out.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        let x = &at.inputs[0];
        x.axis.is_none_or(|axis| self.size[axis] == x.shape[axis])
    }
}
