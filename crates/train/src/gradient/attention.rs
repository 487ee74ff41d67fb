//! The gradient of attention: one op for queries, keys and values, since all three need the scores again.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Attention, AttentionGradient};

pub(crate) fn gradient(op: &Attention, at: &mut Backward<'_>) -> Contributions {
    let [q, k, v] = [0, 1, 2].map(|index| at.input(index));
    let mut inputs = vec![q, k, v, at.output(0), at.output(1), at.gradient()];
    let mask = at.optional_input(3);
    inputs.extend(mask);
    let gradients = at.add(AttentionGradient(*op), &inputs)?;
    Ok(gradients.into_iter().map(Some).chain(mask.map(|_| None)).collect())
}
