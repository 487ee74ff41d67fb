//! Stretching a tensor to a larger shape.

use super::expect::{Inferred, ensure, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `x -> x` repeated along axes of extent 1 and along new leading axes, as NumPy does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broadcast {
    /// The shape of the result.
    pub shape: Shape,
}

impl Broadcast {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        let reaches = x.shape.broadcast(&self.shape).as_ref() == Some(&self.shape);
        ensure(reaches, || format!("{} cannot be stretched to {}", x.shape, self.shape))?;
        Ok(vec![x.reshaped(self.shape.clone())])
    }

    /// Every sample gets the same copies, whether of itself or of what is for all.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
