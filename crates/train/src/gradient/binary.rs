//! The gradients of elementwise functions of two numbers. A side that was stretched gets the sum over
//! what it was stretched along.

use super::{Backward, Contributions};
use plimsoll_graph::op::{Binary, Fill, Reduce, Reduction, Reshape, Select, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(crate) fn gradient(op: &Binary, at: &mut Backward<'_>) -> Contributions {
    let (a, b, dy) = (at.input(0), at.input(1), at.gradient());
    let da = match at.needs(0) {
        false => None,
        true => match op {
            Binary::Add | Binary::Subtract => Some(dy),
            Binary::Multiply => Some(at.single(Binary::Multiply, &[dy, b])?),
            Binary::Divide => Some(at.single(Binary::Divide, &[dy, b])?),
            Binary::Maximum => Some(masked(at, Binary::GreaterEqual, [a, b])?),
            Binary::Minimum => Some(masked(at, Binary::GreaterEqual, [b, a])?),
            Binary::Power => Some(base_gradient(at)?),
            Binary::Modulo => Some(dy),
            Binary::Atan2 => Some(angle_gradient(at, b)?),
            Binary::GreaterEqual | Binary::Less | Binary::Equal | Binary::NotEqual => None,
        },
    };
    let db = match at.needs(1) {
        false => None,
        true => match op {
            Binary::Add => Some(dy),
            Binary::Subtract => Some(at.single(Unary::Negate, &[dy])?),
            Binary::Multiply => Some(at.single(Binary::Multiply, &[dy, a])?),
            Binary::Divide => Some(divisor_gradient(at)?),
            Binary::Maximum => Some(masked(at, Binary::Less, [a, b])?),
            Binary::Minimum => Some(masked(at, Binary::Less, [b, a])?),
            Binary::Power => Some(exponent_gradient(at)?),
            Binary::Modulo => Some(modulus_gradient(at)?),
            Binary::Atan2 => {
                let turned = angle_gradient(at, a)?;
                Some(at.single(Unary::Negate, &[turned])?)
            }
            Binary::GreaterEqual | Binary::Less | Binary::Equal | Binary::NotEqual => None,
        },
    };
    let da = da.map(|da| unstretched(at, da, a)).transpose()?;
    let db = db.map(|db| unstretched(at, db, b)).transpose()?;
    Ok(vec![da, db])
}

/// The gradient where a comparison holds, 0 elsewhere.
fn masked(at: &mut Backward<'_>, comparison: Binary, sides: [ValueId; 2]) -> Result<ValueId, ShapeError> {
    let mask = at.single(comparison, &sides)?;
    at.single(Binary::Multiply, &[at.gradient(), mask])
}

/// `d(a / b)/db = -(a / b) / b`
fn divisor_gradient(at: &mut Backward<'_>) -> Result<ValueId, ShapeError> {
    let (quotient, b) = (at.output(0), at.input(1));
    let weighted = at.single(Binary::Multiply, &[at.gradient(), quotient])?;
    let divided = at.single(Binary::Divide, &[weighted, b])?;
    at.single(Unary::Negate, &[divided])
}

/// `d(a^b)/da = b a^(b - 1)`
fn base_gradient(at: &mut Backward<'_>) -> Result<ValueId, ShapeError> {
    let (a, b) = (at.input(0), at.input(1));
    let less = at.single(Unary::AddScalar(-1.0), &[b])?;
    let power = at.single(Binary::Power, &[a, less])?;
    let slope = at.single(Binary::Multiply, &[b, power])?;
    at.single(Binary::Multiply, &[at.gradient(), slope])
}

/// `d(a^b)/db = a^b log a`; as in TensorFlow, the logarithm counts as 0 where there is none.
fn exponent_gradient(at: &mut Backward<'_>) -> Result<ValueId, ShapeError> {
    let (a, y) = (at.input(0), at.output(0));
    let zero = at.single(Fill { shape: Shape::scalar(), value: 0.0 }, &[])?;
    let positive = at.single(Binary::Less, &[zero, a])?;
    let logarithm = at.single(Unary::Log, &[a])?;
    let logarithm = at.single(Select {}, &[positive, logarithm, zero])?;
    let slope = at.single(Binary::Multiply, &[y, logarithm])?;
    at.single(Binary::Multiply, &[at.gradient(), slope])
}

/// `d(a mod b)/db = -floor(a / b)`
fn modulus_gradient(at: &mut Backward<'_>) -> Result<ValueId, ShapeError> {
    let quotient = at.single(Binary::Divide, &[at.input(0), at.input(1)])?;
    let whole = at.single(Unary::Floor, &[quotient])?;
    let weighted = at.single(Binary::Multiply, &[at.gradient(), whole])?;
    at.single(Unary::Negate, &[weighted])
}

/// The gradient times the other side over the square of the distance from the origin.
fn angle_gradient(at: &mut Backward<'_>, other: ValueId) -> Result<ValueId, ShapeError> {
    let a = at.single(Unary::Square, &[at.input(0)])?;
    let b = at.single(Unary::Square, &[at.input(1)])?;
    let square = at.single(Binary::Add, &[a, b])?;
    let slope = at.single(Binary::Divide, &[other, square])?;
    at.single(Binary::Multiply, &[at.gradient(), slope])
}

/// Sums a gradient over the axes along which `like` was stretched.
pub(super) fn unstretched(
    at: &mut Backward<'_>,
    gradient: ValueId,
    like: ValueId,
) -> Result<ValueId, ShapeError> {
    let (from, to) = (at.shape(gradient), at.shape(like));
    if from == to {
        return Ok(gradient);
    }
    let new_axes = from.rank() - to.rank();
    let stretched = |&axis: &usize| axis < new_axes || (to[axis - new_axes] == 1 && from[axis] != 1);
    let axes: Vec<usize> = (0..from.rank()).filter(stretched).collect();
    let sum = at.single(Reduce { reduction: Reduction::Sum, axes, keep_axes: false }, &[gradient])?;
    match at.shape(sum) == to {
        true => Ok(sum),
        false => at.single(Reshape { shape: to }, &[sum]),
    }
}
