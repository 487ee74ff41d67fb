//! Surrounding a tensor with a constant.

use super::expect::{Inferred, ensure, floats, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `x -> x` with so many elements of `value` before and after along each axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pad {
    /// How many before, per axis.
    pub before: Vec<usize>,
    /// How many after, per axis.
    pub after: Vec<usize>,
    /// What they are.
    pub value: f32,
}

impl Pad {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        let rank = x.shape.rank();
        ensure(self.before.len() == rank && self.after.len() == rank, || {
            format!("the padding is not of rank {rank}")
        })?;
        let extents = (0..rank).map(|axis| {
            self.before[axis].checked_add(x.shape[axis]).and_then(|sum| sum.checked_add(self.after[axis]))
        });
        let extents = extents.collect::<Option<Vec<_>>>().ok_or("the padding is absurdly large")?;
        Ok(vec![x.reshaped(Shape::new(extents))])
    }

    /// No sample may be added.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.inputs[0].axis.is_none_or(|axis| self.before[axis] == 0 && self.after[axis] == 0)
    }
}
