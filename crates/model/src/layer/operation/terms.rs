//! Short names for the ops that other functions are written in. Integers and truth values are float32 here: 0 and 1.

use super::Context;
use plimsoll_graph::op::{
    Binary, Broadcast, Cast, Constant, Embedding, Fill, Reduce, Reduction, Select, Slice, Unary,
};
use plimsoll_graph::{ElementType, Shape, ShapeError, ValueId};

/// A value, or why there is none.
pub(super) type Made = Result<ValueId, ShapeError>;

pub(super) fn of(at: &mut Context<'_>, function: Unary, x: ValueId) -> Made {
    at.op(function, &[x])
}

pub(super) fn both(at: &mut Context<'_>, function: Binary, a: ValueId, b: ValueId) -> Made {
    at.op(function, &[a, b])
}

pub(super) fn add(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    both(at, Binary::Add, a, b)
}

pub(super) fn subtract(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    both(at, Binary::Subtract, a, b)
}

pub(super) fn multiply(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    both(at, Binary::Multiply, a, b)
}

pub(super) fn divide(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    both(at, Binary::Divide, a, b)
}

/// 1 where a value is below another.
pub(super) fn below(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    both(at, Binary::Less, a, b)
}

pub(super) fn scaled(at: &mut Context<'_>, x: ValueId, factor: f32) -> Made {
    of(at, Unary::MultiplyScalar(factor), x)
}

pub(super) fn shifted(at: &mut Context<'_>, x: ValueId, by: f32) -> Made {
    of(at, Unary::AddScalar(by), x)
}

/// 1 where a value is not 0.
pub(super) fn truth(at: &mut Context<'_>, x: ValueId) -> Made {
    let zero = at.scalar(0.0)?;
    both(at, Binary::NotEqual, x, zero)
}

/// 1 where a truth value is 0.
pub(super) fn not(at: &mut Context<'_>, x: ValueId) -> Made {
    let turned = of(at, Unary::Negate, x)?;
    shifted(at, turned, 1.0)
}

/// One or the other side, stretched to their common shape.
pub(super) fn choose(at: &mut Context<'_>, condition: ValueId, a: ValueId, b: ValueId) -> Made {
    let shapes = [condition, a, b].map(|side| at.shape(side).clone());
    let common = shapes[0].broadcast(&shapes[1]).and_then(|shape| shape.broadcast(&shapes[2]));
    let unlike =
        || at.refusal(&[condition, a, b], "the shapes cannot be stretched to each other".to_string());
    let common = common.ok_or_else(unlike)?;
    let mut sides = [condition, a, b];
    for side in &mut sides {
        if at.shape(*side).rank() > 0 {
            *side = stretched(at, *side, &common)?;
        }
    }
    let chosen = at.op(Select {}, &sides)?;
    stretched(at, chosen, &common)
}

pub(super) fn stretched(at: &mut Context<'_>, x: ValueId, shape: &Shape) -> Made {
    match at.shape(x) == shape {
        true => Ok(x),
        false => at.op(Broadcast { shape: shape.clone() }, &[x]),
    }
}

/// Everywhere the same, in the shape of a value.
pub(super) fn alike(at: &mut Context<'_>, like: ValueId, value: f32) -> Made {
    let shape = at.shape(like).clone();
    at.op(Fill { shape, value }, &[])
}

pub(super) fn constant(at: &mut Context<'_>, shape: &[usize], values: Vec<f32>) -> Made {
    let same = values.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits());
    match values.first() {
        Some(&value) if same => at.op(Fill { shape: Shape::new(shape), value }, &[]),
        _ => at.op(Constant { shape: Shape::new(shape), values }, &[]),
    }
}

/// `start, start + 1, ...`
pub(super) fn counting(at: &mut Context<'_>, start: usize, count: usize) -> Made {
    constant(at, &[count], (start..start + count).map(|number| number as f32).collect())
}

pub(super) fn reduced(
    at: &mut Context<'_>,
    x: ValueId,
    reduction: Reduction,
    axes: &[usize],
    keep_axes: bool,
) -> Made {
    let mut axes = axes.to_vec();
    axes.sort_unstable();
    at.op(Reduce { reduction, axes, keep_axes }, &[x])
}

/// The smallest over axes.
pub(super) fn smallest(at: &mut Context<'_>, x: ValueId, axes: &[usize], keep_axes: bool) -> Made {
    let turned = of(at, Unary::Negate, x)?;
    let largest = reduced(at, turned, Reduction::Max, axes, keep_axes)?;
    of(at, Unary::Negate, largest)
}

pub(super) fn as_integers(at: &mut Context<'_>, x: ValueId) -> Made {
    match at.element(x) {
        ElementType::I32 => Ok(x),
        _ => at.op(Cast { to: ElementType::I32 }, &[x]),
    }
}

pub(super) fn as_floats(at: &mut Context<'_>, x: ValueId) -> Made {
    match at.element(x) {
        ElementType::F32 => Ok(x),
        _ => at.op(Cast { to: ElementType::F32 }, &[x]),
    }
}

/// A part of one axis.
pub(super) fn part(at: &mut Context<'_>, x: ValueId, axis: usize, first: usize, count: usize) -> Made {
    let mut size = at.shape(x).extents().to_vec();
    let mut start = vec![0; size.len()];
    if first == 0 && size[axis] == count {
        return Ok(x);
    }
    (start[axis], size[axis]) = (first, count);
    at.op(Slice { start, size }, &[x])
}

/// The value with one axis moved to another place, the others in their order.
pub(super) fn moved(at: &mut Context<'_>, x: ValueId, from: usize, to: usize) -> Made {
    let mut order: Vec<usize> = (0..at.shape(x).rank()).filter(|&axis| axis != from).collect();
    order.insert(to, from);
    at.transposed(x, order)
}

/// The given positions of an axis, one after another.
pub(super) fn picked(at: &mut Context<'_>, x: ValueId, axis: usize, positions: &[usize]) -> Made {
    let runs = positions.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    if runs && !positions.is_empty() {
        return part(at, x, axis, positions[0], positions.len());
    }
    let ids = constant(at, &[positions.len()], positions.iter().map(|&position| position as f32).collect())?;
    taken(at, x, ids, axis)
}

/// The positions of an axis that a tensor of ids names: its axes take the place of that axis.
pub(super) fn taken(at: &mut Context<'_>, x: ValueId, ids: ValueId, axis: usize) -> Made {
    let ids = as_integers(at, ids)?;
    let own = at.shape(ids).extents().to_vec();
    let front = moved(at, x, axis, 0)?;
    let extents = at.shape(front).extents().to_vec();
    let rest: usize = extents[1..].iter().product();
    let table = at.reshaped(front, [extents[0], rest])?;
    let rows = at.op(Embedding {}, &[table, ids])?;
    let y = at.reshaped(rows, Shape::new([&own[..], &extents[1..]].concat()))?;
    // The axes of the ids go where the axis was.
    let rank = own.len() + extents.len() - 1;
    let others: Vec<usize> = (own.len()..rank).collect();
    let order = [&others[..axis], &(0..own.len()).collect::<Vec<_>>(), &others[axis..]].concat();
    at.transposed(y, order)
}

/// The value with the given axes as one, the last.
pub(super) fn gathered(at: &mut Context<'_>, x: ValueId, axes: &[usize]) -> Made {
    let extents = at.shape(x).extents().to_vec();
    let kept: Vec<usize> = (0..extents.len()).filter(|axis| !axes.contains(axis)).collect();
    let turned = at.transposed(x, [&kept[..], axes].concat())?;
    let mut shape: Vec<usize> = kept.iter().map(|&axis| extents[axis]).collect();
    shape.push(axes.iter().map(|&axis| extents[axis]).product());
    at.reshaped(turned, Shape::new(shape))
}
