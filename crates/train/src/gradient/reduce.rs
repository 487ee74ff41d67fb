//! The gradients of reductions: stretched back to the shape that was reduced.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Broadcast, Reduce, ReduceMaxGradient, Reduction, Reshape, Unary};
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
