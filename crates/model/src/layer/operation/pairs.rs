//! Functions of two or three elements at the same place: comparisons, logic, quotients.

use super::Context;
use super::named::Named;
use super::terms::{
    Made, add, alike, below, both, choose, divide, multiply, not, of, scaled, shifted, subtract, truth,
};
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use std::f32::consts::LN_2;

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    if let ("Select", [rest @ .., default]) = (f.class.as_str(), v) {
        return select(at, rest, *default).map(Some);
    }
    if let ("Where", &[condition, a, b]) = (f.class.as_str(), v) {
        let condition = truth(at, condition)?;
        return choose(at, condition, a, b).map(Some);
    }
    let &[a, b, ..] = v else { return Ok(None) };
    Ok(Some(match f.class.as_str() {
        "Equal" => both(at, Binary::Equal, a, b)?,
        "NotEqual" => both(at, Binary::NotEqual, a, b)?,
        "Less" => below(at, a, b)?,
        "Greater" => below(at, b, a)?,
        "GreaterEqual" => both(at, Binary::GreaterEqual, a, b)?,
        "LessEqual" => both(at, Binary::GreaterEqual, b, a)?,
        "LogicalAnd" | "LogicalOr" | "LogicalXor" => {
            let (a, b) = (truth(at, a)?, truth(at, b)?);
            let function = match f.class.as_str() {
                "LogicalAnd" => Binary::Multiply,
                "LogicalOr" => Binary::Maximum,
                _ => Binary::NotEqual,
            };
            both(at, function, a, b)?
        }
        "Arctan2" => both(at, Binary::Atan2, a, b)?,
        "Power" => both(at, Binary::Power, a, b)?,
        "Mod" => both(at, Binary::Modulo, a, b)?,
        "Fmod" => {
            let (sign, a, b) = (of(at, Unary::Sign, a)?, of(at, Unary::Abs, a)?, of(at, Unary::Abs, b)?);
            let rest = both(at, Binary::Modulo, a, b)?;
            multiply(at, sign, rest)?
        }
        "FloorDivide" | "RightShift" | "BitwiseRightShift" => {
            let b = if f.class == "FloorDivide" { b } else { power_of_2(at, b)? };
            let quotient = divide(at, a, b)?;
            of(at, Unary::Floor, quotient)?
        }
        "LeftShift" | "BitwiseLeftShift" | "Ldexp" => {
            let factor = power_of_2(at, b)?;
            multiply(at, a, factor)?
        }
        "DivideNoNan" => without_nan(at, a, b)?,
        "Fmax" => number_of(at, Binary::Maximum, a, b)?,
        "Fmin" => number_of(at, Binary::Minimum, a, b)?,
        "Hypot" => {
            let (a, b) = (of(at, Unary::Abs, a)?, of(at, Unary::Abs, b)?);
            let (large, small) = (both(at, Binary::Maximum, a, b)?, both(at, Binary::Minimum, a, b)?);
            let ratio = without_nan(at, small, large)?;
            let square = of(at, Unary::Square, ratio)?;
            let sum = shifted(at, square, 1.0)?;
            let root = of(at, Unary::Sqrt, sum)?;
            multiply(at, large, root)?
        }
        "Heaviside" => {
            let (zero, one) = (at.scalar(0.0)?, at.scalar(1.0)?);
            let (negative, positive) = (below(at, a, zero)?, below(at, zero, a)?);
            let rest = choose(at, positive, one, b)?;
            choose(at, negative, zero, rest)?
        }
        "Logaddexp" => sum_of_powers(at, a, b, 1.0)?,
        "Logaddexp2" => sum_of_powers(at, a, b, LN_2)?,
        "Isclose" => {
            let [relative, absolute] = [2, 3].map(|position| v.get(position).copied());
            let (Some(relative), Some(absolute)) = (relative, absolute) else { return Ok(None) };
            let difference = subtract(at, a, b)?;
            let (difference, size) = (of(at, Unary::Abs, difference)?, of(at, Unary::Abs, b)?);
            let share = multiply(at, relative, size)?;
            let allowed = add(at, absolute, share)?;
            both(at, Binary::GreaterEqual, allowed, difference)?
        }
        "IsIn" => any_of(f, at, a, &v[1..])?,
        "BinaryCrossentropy" => {
            let zero = at.scalar(0.0)?;
            let positive = both(at, Binary::Maximum, b, zero)?;
            let product = multiply(at, a, b)?;
            let size = of(at, Unary::Abs, b)?;
            let tail = of(at, Unary::Negate, size)?;
            let tail = of(at, Unary::Exp, tail)?;
            let tail = of(at, Unary::Log1p, tail)?;
            let first = subtract(at, positive, product)?;
            add(at, first, tail)?
        }
        _ => return Ok(None),
    }))
}

/// The choice of the first condition that holds.
fn select(at: &mut Context<'_>, rest: &[ValueId], default: ValueId) -> Made {
    let (conditions, choices) = rest.split_at(rest.len() / 2);
    if conditions.len() != choices.len() {
        return Err(at.refusal(rest, "there are not as many choices as conditions".to_string()));
    }
    conditions.iter().zip(choices).rev().try_fold(default, |rest, (&condition, &choice)| {
        let condition = truth(at, condition)?;
        choose(at, condition, choice, rest)
    })
}

fn power_of_2(at: &mut Context<'_>, exponent: ValueId) -> Made {
    let two = alike(at, exponent, 2.0)?;
    both(at, Binary::Power, two, exponent)
}

/// A quotient that is 0 where the divisor is. The divisor is replaced first, so that no gradient is NaN.
pub(super) fn without_nan(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    let (zero, one) = (at.scalar(0.0)?, at.scalar(1.0)?);
    let useless = both(at, Binary::Equal, b, zero)?;
    let divisor = choose(at, useless, one, b)?;
    let quotient = divide(at, a, divisor)?;
    choose(at, useless, zero, quotient)
}

/// The larger or smaller, or the one that is a number.
fn number_of(at: &mut Context<'_>, function: Binary, a: ValueId, b: ValueId) -> Made {
    let (no_a, no_b) = (of(at, Unary::IsNan, a)?, of(at, Unary::IsNan, b)?);
    let (a_is, b_is) = (not(at, no_a)?, not(at, no_b)?);
    let mut result = both(at, function, a, b)?;
    let only_b = multiply(at, no_a, b_is)?;
    result = choose(at, only_b, b, result)?;
    let only_a = multiply(at, no_b, a_is)?;
    choose(at, only_a, a, result)
}

/// `log_c(c^a + c^b)` for `log c = scale`.
fn sum_of_powers(at: &mut Context<'_>, a: ValueId, b: ValueId, scale: f32) -> Made {
    let (difference, sum) = (subtract(at, a, b)?, add(at, a, b)?);
    let unknown = of(at, Unary::IsNan, difference)?;
    let size = of(at, Unary::Abs, difference)?;
    let tail = scaled(at, size, -scale)?;
    let tail = of(at, Unary::Exp, tail)?;
    let tail = of(at, Unary::Log1p, tail)?;
    let tail = if scale == 1.0 { tail } else { scaled(at, tail, 1.0 / scale)? };
    let larger = both(at, Binary::Maximum, a, b)?;
    let result = add(at, larger, tail)?;
    choose(at, unknown, sum, result)
}

fn any_of(f: &Named, at: &mut Context<'_>, x: ValueId, elements: &[ValueId]) -> Made {
    let mut found = alike(at, x, 0.0)?;
    for &element in elements {
        let rank = at.shape(element).rank();
        let flat = at.shape(element).elements();
        if rank > 0 && flat > 1 {
            let mut extents = at.shape(x).extents().to_vec();
            extents.push(1);
            let column = at.reshaped(x, plimsoll_graph::Shape::new(extents))?;
            let row = at.reshaped(element, [flat])?;
            let same = both(at, Binary::Equal, column, row)?;
            let last = at.shape(same).rank() - 1;
            let any = super::terms::reduced(at, same, plimsoll_graph::op::Reduction::Max, &[last], false)?;
            found = both(at, Binary::Maximum, found, any)?;
        } else {
            let single = at.reshaped(element, plimsoll_graph::Shape::scalar())?;
            let same = both(at, Binary::Equal, x, single)?;
            found = both(at, Binary::Maximum, found, same)?;
        }
    }
    if f.integers.first() == Some(&1) { not(at, found) } else { Ok(found) }
}
