//! The gradient of looking up rows: each row of the table gets the sum of what was read from it. Ids carry none. Sums
//! by ids are the same the other way round.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Embedding, EmbeddingGradient};

pub(crate) fn gradient(_op: &Embedding, at: &mut Backward<'_>) -> Contributions {
    let (table, ids, dy) = (at.input(0), at.input(1), at.gradient());
    let rows = at.shape(table)[0];
    Ok(vec![Some(at.single(EmbeddingGradient { rows }, &[ids, dy])?), None])
}

/// Where rows are added up by their ids in a forward pass, each row gets the gradient of its sum.
pub(crate) fn gradient_of_sums(_op: &EmbeddingGradient, at: &mut Backward<'_>) -> Contributions {
    let (ids, dy) = (at.input(0), at.gradient());
    Ok(vec![None, Some(at.single(Embedding {}, &[dy, ids])?)])
}
