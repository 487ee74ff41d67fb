//! The gradients of sums and products up to an element: sums from the other end.

use super::{Backward, Contributions};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Binary, Cumulate, Fill, Select};

/// That of products divides by the argument, and is 0 where that is 0, as in TensorFlow.
pub(crate) fn gradient(op: &Cumulate, at: &mut Backward<'_>) -> Contributions {
    let back = Cumulate { product: false, reverse: !op.reverse, ..*op };
    if !op.product {
        return Ok(vec![Some(at.single(back, &[at.gradient()])?)]);
    }
    let (x, y, dy) = (at.input(0), at.output(0), at.gradient());
    let weighted = at.single(Binary::Multiply, &[y, dy])?;
    let sum = at.single(back, &[weighted])?;
    let quotient = at.single(Binary::Divide, &[sum, x])?;
    let zero = at.single(Fill { shape: Shape::scalar(), value: 0.0 }, &[])?;
    Ok(vec![Some(at.single(Select {}, &[x, quotient, zero])?)])
}
