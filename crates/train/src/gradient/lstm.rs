//! The gradient of an LSTM: back through time in one op. The mask carries none.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Lstm, LstmGradient};

pub(crate) fn gradient(op: &Lstm, at: &mut Backward<'_>) -> Contributions {
    let [h, c, gates] = [0, 1, 2].map(|index| at.output(index));
    let mut inputs = vec![at.input(1), h, c, gates, at.gradient()];
    let mask = at.optional_input(2);
    inputs.extend(mask);
    let gradients = at.add(LstmGradient { reverse: op.reverse }, &inputs)?;
    Ok(gradients.into_iter().map(Some).chain(mask.map(|_| None)).collect())
}
