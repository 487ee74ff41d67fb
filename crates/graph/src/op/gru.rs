//! GRU over a whole sequence, with its gradient through time.

use super::expect::{Inferred, ensure, extents, floats, operands_and_optional, shape};
use super::lstm::check_mask;
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(projected [n,t,3u], recurrent [u,3u], recurrent_bias [3u], mask [n,t]?) -> (h [n,t,u], gates [n,t,3u], inner
/// [n,t,u])`.
///
/// The form with the reset gate after the product, Keras's default. Gates stand in Keras's order: update `z`, reset
/// `r`, candidate. With `p = h' recurrent + recurrent_bias` for the previous state `h'`: `z = sigmoid(x_z + p_z)`,
/// `r = sigmoid(x_r + p_r)`, `candidate = tanh(x_c + r p_c)`, `h = z h' + (1 - z) candidate`. `gates` holds the three
/// after their activation and may take the place of `projected`; `inner` is `p_c`. Both serve the gradient and carry
/// none of their own. Where the mask is 0 the state is carried over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gru {
    /// Whether time runs from the last position to the first. Results stand at the positions they belong to.
    pub reverse: bool,
}

/// `(recurrent, h, gates, inner, dh [n,t,u], mask [n,t]?) -> (dprojected [n,t,3u], drecurrent [u,3u], drecurrent_bias
/// [3u])` of [`Gru`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GruGradient {
    /// As in the forward pass.
    pub reverse: bool,
}

impl Gru {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([projected, recurrent, bias], mask) = operands_and_optional(inputs)?;
        floats(&[projected, recurrent, bias])?;
        let [n, t, gates] = extents("the projection", projected)?;
        ensure(gates % 3 == 0, || format!("{gates} is no multiple of 3 gates"))?;
        let u = gates / 3;
        shape("the recurrent kernel", recurrent, [u, 3 * u])?;
        shape("the recurrent bias", bias, [3 * u])?;
        check_mask(mask, n, t)?;
        let state = projected.reshaped([n, t, u]);
        Ok(vec![state.clone(), projected.clone(), state])
    }

    /// A sequence is a sample; the recurrent kernel and bias are for all.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        let shared = at.inputs[1..3].iter().all(|place| place.axis.is_none());
        shared && at.outermost(4)
    }
}

impl GruGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([recurrent, h, gates, inner, dh], mask) = operands_and_optional(inputs)?;
        floats(&[recurrent, h, gates, inner, dh])?;
        let [n, t, u] = extents("the state", h)?;
        shape("the recurrent kernel", recurrent, [u, 3 * u])?;
        shape("the gates", gates, [n, t, 3 * u])?;
        shape("the inner product", inner, [n, t, u])?;
        shape("the gradient", dh, [n, t, u])?;
        check_mask(mask, n, t)?;
        Ok(vec![gates.clone(), recurrent.clone(), recurrent.reshaped([3 * u])])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
