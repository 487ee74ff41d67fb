//! The same elements under another shape.

use super::expect::{Inferred, ensure, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `x -> x` under another shape: a view that moves no bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reshape {
    /// The shape of the result.
    pub shape: Shape,
}

impl Reshape {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        let same = self.shape.is_reasonable() && x.shape.elements() == self.shape.elements();
        ensure(same, || format!("{} and {} differ in their number of elements", x.shape, self.shape))?;
        Ok(vec![x.reshaped(self.shape.clone())])
    }

    /// As long as as many elements in a row belong to a sample as before, they are the same ones.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.inputs[0].run() == at.outputs[0].run()
    }
}
