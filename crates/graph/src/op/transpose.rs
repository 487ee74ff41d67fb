//! Reordering axes.

use super::expect::{Inferred, ensure, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `x -> y` where axis `i` of `y` is axis `order[i]` of `x`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transpose {
    /// A permutation of the axes.
    pub order: Vec<usize>,
}

impl Transpose {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        let is_permutation = sorted.iter().copied().eq(0..x.shape.rank());
        ensure(is_permutation, || format!("{:?} is no order of the axes of {}", self.order, x.shape))?;
        Ok(vec![x.reshaped(Shape::new(self.order.iter().map(|&axis| x.shape[axis]).collect::<Vec<_>>()))])
    }

    /// Samples go where their axis goes.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outputs[0].axis.map(|axis| self.order[axis]) == at.inputs[0].axis
    }
}
