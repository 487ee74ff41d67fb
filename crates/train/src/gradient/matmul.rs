//! The gradients of a matrix product, which are matrix products.

use super::{Backward, Contributions};
use plimsoll_graph::op::{MatMul, Reshape};
use plimsoll_graph::{ShapeError, ValueId};

pub(crate) fn gradient(op: &MatMul, at: &mut Backward<'_>) -> Contributions {
    let (b, dy) = (at.input(1), at.gradient());
    let da = at.needs(0).then(|| match op.transpose_a {
        false => at.single(MatMul { transpose_a: false, transpose_b: !op.transpose_b }, &[dy, b]),
        true => at.single(MatMul { transpose_a: op.transpose_b, transpose_b: true }, &[b, dy]),
    });
    let da = da.transpose()?;
    let db = at.needs(1).then(|| right_gradient(op, at)).transpose()?;
    Ok(vec![da, db])
}

/// Where one matrix `b` serves a batch of `a`, the batch is part of what is summed over.
fn right_gradient(op: &MatMul, at: &mut Backward<'_>) -> Result<ValueId, ShapeError> {
    let (mut a, mut dy) = (at.input(0), at.gradient());
    if at.shape(a).rank() != at.shape(at.input(1)).rank() {
        a = as_matrix(at, a)?;
        dy = as_matrix(at, dy)?;
    }
    match op.transpose_b {
        false => at.single(MatMul { transpose_a: !op.transpose_a, transpose_b: false }, &[a, dy]),
        true => at.single(MatMul { transpose_a: true, transpose_b: op.transpose_a }, &[dy, a]),
    }
}

fn as_matrix(at: &mut Backward<'_>, value: ValueId) -> Result<ValueId, ShapeError> {
    let shape = at.shape(value);
    at.single(Reshape { shape: [shape.rows(), shape.last()].into() }, &[value])
}
