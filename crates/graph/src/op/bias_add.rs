//! Adding a bias to the last axis.

use super::expect::{Inferred, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x [..., c], bias [c]) -> x + bias`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BiasAdd {}

impl BiasAdd {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, bias] = operands(inputs)?;
        floats(&[x, bias])?;
        shape("the bias", bias, [x.shape.last()])?;
        Ok(vec![x.clone()])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
