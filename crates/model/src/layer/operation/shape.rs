//! Operations that reduce, reshape and join.

use super::{Context, Term, values};
use crate::layer::reshape::extents;
use plimsoll_graph::op::{Concat, Reduce, Reduction};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(super) fn reduce(
    at: &mut Context<'_>,
    x: ValueId,
    reduction: Reduction,
    axes: &[isize],
    keep_axes: bool,
) -> Result<ValueId, ShapeError> {
    let all = || (0..at.shape(x).rank()).collect();
    let axes = if axes.is_empty() { all() } else { at.axes(axes, x)? };
    at.op(Reduce { reduction, axes, keep_axes }, &[x])
}

pub(super) fn reshape(at: &mut Context<'_>, x: ValueId, newshape: &[isize]) -> Result<ValueId, ShapeError> {
    let new = extents(newshape, at.shape(x).elements());
    let wrong = || at.refusal(&[x], format!("the new shape {newshape:?} does not fit"));
    at.reshaped(x, Shape::new(new.ok_or_else(wrong)?))
}

pub(super) fn expand(at: &mut Context<'_>, x: ValueId, axis: isize) -> Result<ValueId, ShapeError> {
    let mut extents = at.shape(x).extents().to_vec();
    let position =
        if axis < 0 { (extents.len() + 1).checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
    match position.filter(|&position| position <= extents.len()) {
        Some(position) => extents.insert(position, 1),
        None => return Err(at.refusal(&[x], format!("there is no place for an axis {axis}"))),
    }
    at.reshaped(x, Shape::new(extents))
}

pub(super) fn squeeze(
    at: &mut Context<'_>,
    x: ValueId,
    axes: Option<&[isize]>,
) -> Result<ValueId, ShapeError> {
    let extents = at.shape(x).extents().to_vec();
    // The batch stays an axis whatever its size is.
    let all = || (1..extents.len()).filter(|&axis| extents[axis] == 1).collect();
    let gone: Vec<usize> = axes.map_or_else(|| Ok(all()), |axes| at.axes(axes, x))?;
    if let Some(&axis) = gone.iter().find(|&&axis| axis == 0 || extents[axis] != 1) {
        return Err(at.refusal(&[x], format!("axis {axis} is the batch or not of extent 1")));
    }
    let left = (0..extents.len()).filter(|axis| !gone.contains(axis)).map(|axis| extents[axis]);
    at.reshaped(x, Shape::new(left.collect::<Vec<_>>()))
}

pub(super) fn stack(at: &mut Context<'_>, operands: &[Term], axis: isize) -> Result<ValueId, ShapeError> {
    let mut parts = values(at, operands)?;
    for part in &mut parts {
        *part = expand(at, *part, axis)?;
    }
    let Some(&first) = parts.first() else {
        return Err(at.refusal(&[], "there is nothing to join".to_string()));
    };
    let axis = at.axis(axis, first)?;
    at.op(Concat { axis }, &parts)
}
