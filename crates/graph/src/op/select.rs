//! Choosing between two tensors, element by element.

use super::expect::{Inferred, ensure, floats, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(condition, a, b) -> a` where the condition is not 0, else `b`. Each has the shape of the result or one element.
/// What is not chosen does not matter, even if it is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Select {}

impl Select {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [condition, a, b] = operands(inputs)?;
        floats(&[condition, a, b])?;
        let all = [condition, a, b];
        let largest = all.into_iter().max_by_key(|side| (side.shape.elements(), side.shape.rank()));
        let shape = &largest.expect("there are three").shape;
        for side in all {
            let fits = side.shape == *shape || (side.shape.elements() == 1 && side.shape.rank() == 0);
            ensure(fits, || format!("{} is neither {shape} nor a scalar", side.shape))?;
        }
        Ok(vec![a.reshaped(shape.clone())])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
