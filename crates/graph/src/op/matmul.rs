//! Matrix product, batched.

use super::expect::{Inferred, ensure, floats, operands};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// `(a, b) -> a b`, with either side transposed first.
///
/// `a` is `[..., m, k]` and `b` is `[..., k, n]` with equal leading axes, or `b` is one matrix
/// that serves all of `a` (then `a` must not be transposed, so that its rows lie in one run).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatMul {
    /// `a` is stored as `[..., k, m]`.
    pub transpose_a: bool,
    /// `b` is stored as `[..., n, k]`.
    pub transpose_b: bool,
}

impl MatMul {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [a, b] = operands(inputs)?;
        floats(&[a, b])?;
        let (batch_a, [m, k]) = split(&a.shape, self.transpose_a)?;
        let (batch_b, [inner, n]) = split(&b.shape, self.transpose_b)?;
        ensure(k == inner, || format!("the inner extents {k} and {inner} differ"))?;
        let shared = batch_b.is_empty() && !batch_a.is_empty();
        ensure(!(shared && self.transpose_a), || "a batch of transposed a needs a batch of b".to_string())?;
        ensure(shared || batch_a == batch_b, || "the leading axes differ".to_string())?;
        Ok(vec![a.reshaped(Shape::new([batch_a, &[m, n]].concat()))])
    }

    /// Samples meet where the sum goes over them.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        let [a, b] = [&at.inputs[0], &at.inputs[1]];
        let inner = |rank: usize, transposed: bool| rank - if transposed { 2 } else { 1 };
        a.axis != Some(inner(a.shape.rank(), self.transpose_a))
            && b.axis != Some(inner(b.shape.rank(), !self.transpose_b))
    }
}

/// Leading axes, then rows and columns after the transposition.
fn split(shape: &Shape, transposed: bool) -> Result<(&[usize], [usize; 2]), String> {
    match shape.extents() {
        [batch @ .., rows, columns] if transposed => Ok((batch, [*columns, *rows])),
        [batch @ .., rows, columns] => Ok((batch, [*rows, *columns])),
        _ => Err(format!("{shape} is not a matrix")),
    }
}
