//! The gradients of layer normalization.

use super::{Backward, Contributions};
use plimsoll_graph::op::{LayerNorm, LayerNormGradient};

pub(crate) fn gradient(_op: &LayerNorm, at: &mut Backward<'_>) -> Contributions {
    let (x, gamma, dy) = (at.input(0), at.input(1), at.gradient());
    let (mean, inverse_deviation) = (at.output(1), at.output(2));
    let gradients = at.add(LayerNormGradient {}, &[x, gamma, mean, inverse_deviation, dy])?;
    Ok(gradients.into_iter().map(Some).collect())
}
