//! Functions of two numbers, applied to every pair of elements.

use super::expect::{Inferred, floats, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(a, b) -> f(a, b)`, elementwise, both sides stretched to their common shape as NumPy does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a b`
    Multiply,
    /// `a / b`
    Divide,
    /// `max(a, b)`
    Maximum,
    /// `min(a, b)`
    Minimum,
    /// 1 where `a >= b`, else 0.
    GreaterEqual,
    /// 1 where `a < b`, else 0.
    Less,
    /// 1 where `a = b`, else 0.
    Equal,
    /// 1 where `a` and `b` differ, else 0.
    NotEqual,
    /// `a^b`
    Power,
    /// What is left of `a` without the largest whole multiple of `b` that is not above it; it has the sign of `b`.
    Modulo,
    /// The angle of the point `(b, a)`.
    Atan2,
}

impl Binary {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [a, b] = operands(inputs)?;
        floats(&[a, b])?;
        let shape = a.shape.broadcast(&b.shape).ok_or("the shapes cannot be stretched to each other")?;
        Ok(vec![a.reshaped(shape)])
    }

    /// Whether it only says which of two cases holds: no gradient goes through it.
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::GreaterEqual | Self::Less | Self::Equal | Self::NotEqual)
    }

    /// Element by element, samples do not meet: sides that both have them have them on the same axis of the result.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
