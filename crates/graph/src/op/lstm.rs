//! LSTM over a whole sequence, with its gradient through time.

use super::expect::{Inferred, ensure, extents, floats, operands_and_optional, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(projected [n,t,4u], recurrent [u,4u], mask [n,t]?) -> (h [n,t,u], c [n,t,u], gates [n,t,4u])`.
///
/// `projected` is `x W + b` for all positions at once, made by a matrix product outside, so that its gradients are
/// matrix products too. Gates stand in Keras's order: input, forget, candidate, output. `gates` holds them after their
/// activation and may take the place of `projected`. Where the mask is 0 the state is carried over unchanged. `c` and
/// `gates` serve the gradient and carry none of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lstm {
    /// Whether time runs from the last position to the first. Results stand at the positions they belong to.
    pub reverse: bool,
}

/// `(recurrent, h, c, gates, dh [n,t,u], mask [n,t]?) -> (dprojected [n,t,4u], drecurrent [u,4u])` of [`Lstm`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LstmGradient {
    /// As in the forward pass.
    pub reverse: bool,
}

impl Lstm {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([projected, recurrent], mask) = operands_and_optional(inputs)?;
        floats(&[projected, recurrent])?;
        let [n, t, gates] = extents("the projection", projected)?;
        ensure(gates % 4 == 0, || format!("{gates} is no multiple of 4 gates"))?;
        let u = gates / 4;
        shape("the recurrent kernel", recurrent, [u, 4 * u])?;
        check_mask(mask, n, t)?;
        let state = projected.reshaped([n, t, u]);
        Ok(vec![state.clone(), state, projected.clone()])
    }

    /// A sequence is a sample; the recurrent kernel is for all.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        let shared = at.inputs[1].axis.is_none();
        shared && at.outermost(3)
    }
}

impl LstmGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([recurrent, h, c, gates, dh], mask) = operands_and_optional(inputs)?;
        floats(&[recurrent, h, c, gates, dh])?;
        let [n, t, u] = extents("the state", h)?;
        shape("the recurrent kernel", recurrent, [u, 4 * u])?;
        shape("the cell", c, [n, t, u])?;
        shape("the gates", gates, [n, t, 4 * u])?;
        shape("the gradient", dh, [n, t, u])?;
        check_mask(mask, n, t)?;
        Ok(vec![gates.clone(), recurrent.clone()])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

pub(super) fn check_mask(mask: Option<&TensorType>, n: usize, t: usize) -> Result<(), String> {
    let Some(mask) = mask else { return Ok(()) };
    floats(&[mask])?;
    shape("the mask", mask, [n, t])
}
