//! Scaled dot-product attention that never stores the matrix of scores, with its gradient.

use super::expect::{Inferred, ensure, extents, floats, operands_and_optional, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(q [n,t,h,d], k [n,s,h,d], v [n,s,h,e], mask [n,s]?) -> (y [n,t,h,e], log_sum [n,h,t])`.
///
/// `y = softmax(scale q k^T) v` for each of the `h` heads. Where the mask is 0 a key is not looked at; a query without
/// any key gets zeros. `log_sum` is the logarithm of each softmax's denominator, which is all that the gradient needs
/// to make the scores again (Dao et al., FlashAttention, section 3.1); it carries no gradient of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// What scores are multiplied with, usually `1 / sqrt(d)`.
    pub scale: f32,
    /// Whether query `i` sees only keys `0..=i`.
    pub causal: bool,
}

/// `(q, k, v, y, log_sum, dy, mask?) -> (dq, dk, dv)` of [`Attention`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttentionGradient(pub Attention);

impl Attention {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([q, k, v], mask) = operands_and_optional(inputs)?;
        let [n, t, h, _, e] = self.check(q, k, v, mask)?;
        Ok(vec![q.reshaped([n, t, h, e]), q.reshaped([n, h, t])])
    }

    /// Queries look at keys of the same sample.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(4)
    }

    /// Checks the operands both passes have and gives `n, t, h, s, e`.
    fn check(
        &self,
        q: &TensorType,
        k: &TensorType,
        v: &TensorType,
        mask: Option<&TensorType>,
    ) -> Result<[usize; 5], String> {
        floats(&[q, k, v])?;
        let [n, t, h, d] = extents("the query", q)?;
        let [_, s, _, _] = extents("the key", k)?;
        let [.., e] = extents::<4>("the value", v)?;
        shape("the key", k, [n, s, h, d])?;
        shape("the value", v, [n, s, h, e])?;
        ensure(!self.causal || t == s, || format!("causal attention of {t} queries to {s} keys"))?;
        if let Some(mask) = mask {
            floats(&[mask])?;
            shape("the mask", mask, [n, s])?;
        }
        Ok([n, t, h, s, e])
    }
}

impl AttentionGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([q, k, v, y, log_sum, dy], mask) = operands_and_optional(inputs)?;
        let [n, t, h, _, e] = self.0.check(q, k, v, mask)?;
        floats(&[y, log_sum, dy])?;
        shape("the result", y, [n, t, h, e])?;
        shape("the logarithm", log_sum, [n, h, t])?;
        shape("the gradient", dy, [n, t, h, e])?;
        Ok(vec![q.clone(), k.clone(), v.clone()])
    }

    /// Queries look at keys of the same sample.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(7)
    }
}
