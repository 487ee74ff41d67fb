//! Functions of each element: those that are one op, and those that Keras writes out of simpler ones.

use super::Context;
use super::named::Named;
use super::terms::{
    Made, add, alike, below, both, choose, divide, multiply, not, of, scaled, shifted, stretched, subtract,
    truth,
};
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use std::f32::consts::{LN_2, LN_10, PI};

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    let Some(&x) = v.first() else { return Ok(None) };
    let unary = match f.class.as_str() {
        "Sin" => Unary::Sin,
        "Cos" => Unary::Cos,
        "Tan" => Unary::Tan,
        "Arcsin" => Unary::Asin,
        "Arccos" => Unary::Acos,
        "Arctan" => Unary::Atan,
        "Sinh" => Unary::Sinh,
        "Cosh" => Unary::Cosh,
        "Arcsinh" => Unary::Asinh,
        "Arccosh" => Unary::Acosh,
        "Arctanh" => Unary::Atanh,
        "Erf" => Unary::Erf,
        "Erfinv" => Unary::ErfInv,
        "Log1p" => Unary::Log1p,
        "Expm1" => Unary::Expm1,
        "Floor" => Unary::Floor,
        "Ceil" => Unary::Ceil,
        "Trunc" => Unary::Trunc,
        "Sign" => Unary::Sign,
        "Isnan" => Unary::IsNan,
        "Isfinite" => Unary::IsFinite,
        "StopGradient" => Unary::Detach,
        "Fabs" => Unary::Abs,
        "Log2" => return scaled_logarithm(at, x, LN_2).map(Some),
        "Log10" => return scaled_logarithm(at, x, LN_10).map(Some),
        "Deg2rad" => Unary::MultiplyScalar(PI / 180.0),
        "Rad2deg" => Unary::MultiplyScalar(180.0 / PI),
        _ => return composed(f, at, v),
    };
    of(at, unary, x).map(Some)
}

fn composed(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    let x = v[0];
    Ok(Some(match f.class.as_str() {
        "Copy" | "Conjugate" | "Real" | "ConvertToTensor" => x,
        "Imag" | "ZerosLike" | "EmptyLike" => alike(at, x, 0.0)?,
        "Isreal" | "OnesLike" => alike(at, x, 1.0)?,
        "FullLike" => {
            let shape = at.shape(x).clone();
            let value =
                *v.get(1).ok_or_else(|| at.refusal(&[x], "there is nothing to fill it with".to_string()))?;
            stretched(at, value, &shape)?
        }
        "Reciprocal" => {
            let one = at.scalar(1.0)?;
            divide(at, one, x)?
        }
        "Cbrt" => {
            let size = of(at, Unary::Abs, x)?;
            let root = of(at, Unary::PowerScalar(1.0 / 3.0), size)?;
            let sign = of(at, Unary::Sign, x)?;
            multiply(at, sign, root)?
        }
        "Exp2" => {
            let exponent = scaled(at, x, LN_2)?;
            of(at, Unary::Exp, exponent)?
        }
        "Sinc" => sinc(at, x)?,
        "Signbit" => {
            let (zero, one) = (at.scalar(0.0)?, at.scalar(1.0)?);
            let inverse = divide(at, one, x)?;
            let (negative, minus_zero) = (below(at, x, zero)?, below(at, inverse, zero)?);
            both(at, Binary::Maximum, negative, minus_zero)?
        }
        "Isinf" => infinite(at, x)?,
        "Isposinf" | "Isneginf" => {
            let (infinite, zero) = (infinite(at, x)?, at.scalar(0.0)?);
            let sides = if f.class == "Isposinf" { [zero, x] } else { [x, zero] };
            let side = below(at, sides[0], sides[1])?;
            multiply(at, infinite, side)?
        }
        "NanToNum" => finite(f, at, x)?,
        "Round" => rounded(f, at, x)?,
        "LogicalNot" => {
            let truth = truth(at, x)?;
            not(at, truth)?
        }
        "BitwiseNot" | "BitwiseInvert" => {
            let turned = of(at, Unary::Negate, x)?;
            shifted(at, turned, -1.0)?
        }
        "CastBool" => truth(at, x)?,
        "CastInteger" => of(at, Unary::Trunc, x)?,
        "SaturateCast" => {
            let clipped = clipped(at, x, f.number(0), f.number(1))?;
            of(at, Unary::Trunc, clipped)?
        }
        "Clip" => clipped(at, x, f.number(0), f.number(1))?,
        _ => return activation(f, at, x),
    }))
}

/// The activations that are no activation of a layer.
fn activation(f: &Named, at: &mut Context<'_>, x: ValueId) -> Result<Option<ValueId>, ShapeError> {
    let (c, zero) = (f.number(0), 0.0);
    Ok(Some(match f.class.as_str() {
        "Celu" => {
            let zero = at.scalar(zero)?;
            let (positive, negative) =
                (both(at, Binary::Maximum, x, zero)?, both(at, Binary::Minimum, x, zero)?);
            let bent = scaled(at, negative, 1.0 / c)?;
            let bent = of(at, Unary::Expm1, bent)?;
            let bent = scaled(at, bent, c)?;
            add(at, positive, bent)?
        }
        "HardShrink" => {
            let (size, limit, zero) = (of(at, Unary::Abs, x)?, at.scalar(c)?, at.scalar(zero)?);
            let large = below(at, limit, size)?;
            choose(at, large, x, zero)?
        }
        "SoftShrink" => {
            let (limit, lower, zero) = (at.scalar(c)?, at.scalar(-c)?, at.scalar(zero)?);
            let (above, under) = (below(at, limit, x)?, below(at, x, lower)?);
            let (less, more) = (shifted(at, x, -c)?, shifted(at, x, c)?);
            let rest = choose(at, under, more, zero)?;
            choose(at, above, less, rest)?
        }
        "Squareplus" => {
            let square = of(at, Unary::Square, x)?;
            let shifted = shifted(at, square, c)?;
            let root = of(at, Unary::Sqrt, shifted)?;
            let sum = add(at, x, root)?;
            scaled(at, sum, 0.5)?
        }
        "SparsePlus" | "SparseSigmoid" => {
            let (one, minus_one, zero) = (at.scalar(1.0)?, at.scalar(-1.0)?, at.scalar(zero)?);
            let (inside, positive) = (below(at, x, one)?, below(at, minus_one, x)?);
            let more = shifted(at, x, 1.0)?;
            let (bent, above) = match f.class.as_str() {
                "SparsePlus" => (of(at, Unary::Square, more).and_then(|square| scaled(at, square, 0.25))?, x),
                _ => (scaled(at, more, 0.5)?, one),
            };
            let rest = choose(at, inside, bent, above)?;
            choose(at, positive, rest, zero)?
        }
        "TanhShrink" => {
            let bent = of(at, Unary::Tanh, x)?;
            subtract(at, x, bent)?
        }
        "Threshold" => {
            let (limit, default) = (at.scalar(c)?, at.scalar(f.number(1))?);
            let above = below(at, limit, x)?;
            choose(at, above, x, default)?
        }
        _ => return Ok(None),
    }))
}

/// As `tf.clip_by_value`: the gradient goes through where the number is within the bounds.
pub(super) fn clipped(at: &mut Context<'_>, x: ValueId, low: f32, high: f32) -> Made {
    let (low, high) = (at.scalar(low)?, at.scalar(high)?);
    let lower = both(at, Binary::Minimum, x, high)?;
    both(at, Binary::Maximum, lower, low)
}

fn scaled_logarithm(at: &mut Context<'_>, x: ValueId, base: f32) -> Made {
    let logarithm = of(at, Unary::Log, x)?;
    scaled(at, logarithm, 1.0 / base)
}

fn sinc(at: &mut Context<'_>, x: ValueId) -> Made {
    let (zero, one) = (at.scalar(0.0)?, at.scalar(1.0)?);
    let angle = scaled(at, x, PI)?;
    let sine = of(at, Unary::Sin, angle)?;
    let quotient = divide(at, sine, angle)?;
    let centre = both(at, Binary::Equal, x, zero)?;
    choose(at, centre, one, quotient)
}

fn infinite(at: &mut Context<'_>, x: ValueId) -> Made {
    let finite = of(at, Unary::IsFinite, x)?;
    let nan = of(at, Unary::IsNan, x)?;
    let special = not(at, finite)?;
    subtract(at, special, nan)
}

fn finite(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (zero, nan) = (at.scalar(0.0)?, of(at, Unary::IsNan, x)?);
    let [instead, above, under] = [f.number(0), f.number(1), f.number(2)];
    let (instead, above, under) = (at.scalar(instead)?, at.scalar(above)?, at.scalar(under)?);
    let x = choose(at, nan, instead, x)?;
    let (infinite, positive) = (infinite(at, x)?, below(at, zero, x)?);
    let large = multiply(at, infinite, positive)?;
    let x = choose(at, large, above, x)?;
    let (infinite, negative) = (self::infinite(at, x)?, below(at, x, zero)?);
    let small = multiply(at, infinite, negative)?;
    choose(at, small, under, x)
}

fn rounded(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let decimals = f.integers.first().copied().unwrap_or(0);
    if decimals == 0 {
        return of(at, Unary::Round, x);
    }
    let factor = 10f64.powi(i32::try_from(decimals).unwrap_or(0)) as f32;
    let large = scaled(at, x, factor)?;
    let large = of(at, Unary::Round, large)?;
    let factor = at.scalar(factor)?;
    divide(at, large, factor)
}
