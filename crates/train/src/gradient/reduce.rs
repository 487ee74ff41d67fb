//! The gradients of reductions: stretched back to the shape that was reduced.

use super::{Backward, Contributions};
use plimsoll_graph::op::{
    Binary, Broadcast, Cumulate, Reduce, ReduceMaxGradient, Reduction, Reshape, Transpose, Unary,
};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(crate) fn gradient(op: &Reduce, at: &mut Backward<'_>) -> Contributions {
    let (x, y, dy) = (at.input(0), at.output(0), at.gradient());
    let dx = match op.reduction {
        Reduction::Sum => stretched_back(op, at, dy)?,
        Reduction::Mean => {
            let count = at.shape(x).elements() / at.shape(y).elements();
            let share = at.single(Unary::MultiplyScalar(1.0 / count as f32), &[dy])?;
            stretched_back(op, at, share)?
        }
        Reduction::Product => product_gradient(op, at)?,
        Reduction::Max => {
            let rule = ReduceMaxGradient { axes: op.axes.clone(), keep_axes: op.keep_axes };
            at.single(rule, &[x, y, dy])?
        }
    };
    Ok(vec![Some(dx)])
}

fn stretched_back(op: &Reduce, at: &mut Backward<'_>, dy: ValueId) -> Result<ValueId, ShapeError> {
    let shape = at.shape(at.input(0));
    let kept = (0..shape.rank()).map(|axis| if op.axes.contains(&axis) { 1 } else { shape[axis] });
    let kept = Shape::new(kept.collect::<Vec<_>>());
    let dy = if at.shape(dy) == kept { dy } else { at.single(Reshape { shape: kept }, &[dy])? };
    at.single(Broadcast { shape }, &[dy])
}

/// Each element gets the product of the others: of those before it and of those behind it.
fn product_gradient(op: &Reduce, at: &mut Backward<'_>) -> Result<ValueId, ShapeError> {
    let shape = at.shape(at.input(0));
    let kept: Vec<usize> = (0..shape.rank()).filter(|axis| !op.axes.contains(axis)).collect();
    let order = [&kept[..], &op.axes].concat();
    let turned = at.single(Transpose { order: order.clone() }, &[at.input(0)])?;
    let turned_shape = at.shape(turned);
    let count = |axes: &[usize]| axes.iter().map(|&axis| shape[axis]).product::<usize>();
    let rows = Shape::new([count(&kept), count(&op.axes)]);
    let x = at.single(Reshape { shape: rows.clone() }, &[turned])?;
    let before = Cumulate { product: true, exclusive: true, reverse: false };
    let [before, behind] = [before, Cumulate { reverse: true, ..before }];
    let (before, behind) = (at.single(before, &[x])?, at.single(behind, &[x])?);
    let others = at.single(Binary::Multiply, &[before, behind])?;
    let dy = at.single(Reshape { shape: Shape::new([rows[0], 1]) }, &[at.gradient()])?;
    let dx = at.single(Binary::Multiply, &[dy, others])?;
    let dx = at.single(Reshape { shape: turned_shape }, &[dx])?;
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
    at.single(Transpose { order: back }, &[dx])
}
