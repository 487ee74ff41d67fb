//! The gradient of adding a bias: the bias gets the sum over all rows.

use super::{Backward, Contributions};
use plimsoll_graph::op::{BiasAdd, Reduce, Reduction};

pub(crate) fn gradient(_op: &BiasAdd, at: &mut Backward<'_>) -> Contributions {
    let dy = at.gradient();
    let rows = (0..at.shape(dy).rank() - 1).collect();
    let sum = Reduce { reduction: Reduction::Sum, axes: rows, keep_axes: false };
    let dbias = at.needs(1).then(|| at.single(sum, &[dy])).transpose()?;
    Ok(vec![Some(dy), dbias])
}
