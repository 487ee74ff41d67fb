//! The gradient of a GRU: back through time in one op. The mask carries none.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Gru, GruGradient};

pub(crate) fn gradient(op: &Gru, at: &mut Backward<'_>) -> Contributions {
    let [h, gates, inner] = [0, 1, 2].map(|index| at.output(index));
    let mut inputs = vec![at.input(1), h, gates, inner, at.gradient()];
    let mask = at.optional_input(3);
    inputs.extend(mask);
    let gradients = at.add(GruGradient { reverse: op.reverse }, &inputs)?;
    Ok(gradients.into_iter().map(Some).chain(mask.map(|_| None)).collect())
}
