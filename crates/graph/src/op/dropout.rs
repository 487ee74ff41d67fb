//! Dropout with a mask that is computed, not stored.

use super::expect::{Inferred, ensure, floats, integers, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x, step i32[]) -> x / (1 - rate)` where kept, 0 elsewhere.
///
/// Element `i` is kept if a counter-based generator keyed by the seed says so for `(step, i)`, so the same mask can
/// be made again at any time: the gradient of dropout is dropout, and dropping its output costs nothing to undo.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropout {
    /// The probability of dropping an element, in `[0, 1)`.
    pub rate: f32,
    /// Distinguishes the dropouts of one model.
    pub seed: u64,
}

impl Dropout {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, step] = operands(inputs)?;
        floats(&[x])?;
        integers(step)?;
        shape("the step", step, [])?;
        ensure((0.0..1.0).contains(&self.rate), || format!("the rate {} is not in [0, 1)", self.rate))?;
        Ok(vec![x.clone()])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
