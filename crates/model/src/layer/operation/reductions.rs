//! Functions of many elements: truth, deviations, norms, normalizations.

use super::Context;
use super::named::Named;
use super::terms::{
    Made, add, both, choose, counting, divide, multiply, of, part, reduced, scaled, shifted, smallest,
    subtract, truth,
};
use plimsoll_graph::op::{Binary, Reduction, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    let Some(&x) = v.first() else { return Ok(None) };
    let keep = f.keepdims;
    Ok(Some(match f.class.as_str() {
        "Any" | "All" | "CountNonzero" => {
            let (axes, truth) = (f.axes(at, x)?, truth(at, x)?);
            match f.class.as_str() {
                "Any" => reduced(at, truth, Reduction::Max, &axes, keep)?,
                "All" => smallest(at, truth, &axes, keep)?,
                _ => reduced(at, truth, Reduction::Sum, &axes, keep)?,
            }
        }
        "Prod" => {
            let axes = f.axes(at, x)?;
            reduced(at, x, Reduction::Product, &axes, keep)?
        }
        "Ptp" => {
            let axes = f.axes(at, x)?;
            let (largest, least) =
                (reduced(at, x, Reduction::Max, &axes, keep)?, smallest(at, x, &axes, keep)?);
            subtract(at, largest, least)?
        }
        "Var" | "Std" | "Moments" => {
            let axes = f.axes(at, x)?;
            match (f.class.as_str(), f.part) {
                ("Moments", 0) => reduced(at, x, Reduction::Mean, &axes, keep)?,
                ("Std", _) => {
                    let variance = variance(at, x, &axes, keep)?;
                    of(at, Unary::Sqrt, variance)?
                }
                _ => variance(at, x, &axes, keep)?,
            }
        }
        "Logsumexp" => {
            let axes = f.axes(at, x)?;
            log_of_sum(at, x, &axes, keep)?
        }
        "Average" => average(f, at, v)?,
        "Nansum" | "Nanmean" | "Nanprod" => without_nans(f, at, x)?,
        "Norm" => {
            let axes = f.axes(at, x)?;
            norm(f, at, x, &axes)?
        }
        "Normalize" => normalized(f, at, x)?,
        "BatchNorm" => batch_norm(f, at, v)?,
        "LayerNorm" | "RMSNorm" => row_norm(f, at, v)?,
        "OneHot" | "MultiHot" => one_hot(f, at, x)?,
        "PSNR" => {
            let &[a, b] = v else { return Ok(None) };
            let difference = subtract(at, a, b)?;
            let square = of(at, Unary::Square, difference)?;
            let axes: Vec<usize> = (0..at.shape(square).rank()).collect();
            let mean = reduced(at, square, Reduction::Mean, &axes, false)?;
            let logarithm = of(at, Unary::Log, mean)?;
            let noise = scaled(at, logarithm, -10.0 / std::f32::consts::LN_10)?;
            shifted(at, noise, 20.0 * f.number(0).log10())?
        }
        "SparseCategoricalCrossentropy" => {
            let &[target, logits] = v else { return Ok(None) };
            let last = at.axis(-1, logits)?;
            let logarithms = log_softmax(at, logits, last)?;
            let classes = at.shape(logits).last();
            let hot = hot(at, target, classes)?;
            let product = multiply(at, hot, logarithms)?;
            let sum = reduced(at, product, Reduction::Sum, &[last], false)?;
            of(at, Unary::Negate, sum)?
        }
        "LogSoftmax" => {
            let axis = f.one_axis(at, x)?;
            log_softmax(at, x, axis)?
        }
        _ => return Ok(None),
    }))
}

fn log_softmax(at: &mut Context<'_>, x: ValueId, axis: usize) -> Made {
    let turned = at.exchanged(x, axis)?;
    let turned = at.op(plimsoll_graph::op::LogSoftmax {}, &[turned])?;
    at.exchanged(turned, axis)
}

fn variance(at: &mut Context<'_>, x: ValueId, axes: &[usize], keep: bool) -> Made {
    let mean = reduced(at, x, Reduction::Mean, axes, true)?;
    let centred = subtract(at, x, mean)?;
    let square = of(at, Unary::Square, centred)?;
    reduced(at, square, Reduction::Mean, axes, keep)
}

/// As TensorFlow: the largest is taken out first, as a constant.
fn log_of_sum(at: &mut Context<'_>, x: ValueId, axes: &[usize], keep: bool) -> Made {
    let largest = reduced(at, x, Reduction::Max, axes, true)?;
    let largest = of(at, Unary::Detach, largest)?;
    let (finite, zero) = (of(at, Unary::IsFinite, largest)?, at.scalar(0.0)?);
    let largest = choose(at, finite, largest, zero)?;
    let rest = subtract(at, x, largest)?;
    let powers = of(at, Unary::Exp, rest)?;
    let sum = reduced(at, powers, Reduction::Sum, axes, keep)?;
    let logarithm = of(at, Unary::Log, sum)?;
    let shape = at.shape(logarithm).clone();
    let largest = at.reshaped(largest, shape)?;
    add(at, logarithm, largest)
}

fn average(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Made {
    let (x, axes) = (v[0], f.axes(at, v[0])?);
    let Some(&weights) = v.get(1) else { return reduced(at, x, Reduction::Mean, &axes, false) };
    if at.shape(weights) != at.shape(x) {
        return Err(at.refusal(v, "weights of another shape are not supported".to_string()));
    }
    let product = multiply(at, x, weights)?;
    let sum = reduced(at, product, Reduction::Sum, &axes, false)?;
    let all = reduced(at, weights, Reduction::Sum, &axes, false)?;
    divide(at, sum, all)
}

fn without_nans(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (axes, unknown) = (f.axes(at, x)?, of(at, Unary::IsNan, x)?);
    let neutral = at.scalar(if f.class == "Nanprod" { 1.0 } else { 0.0 })?;
    let known = choose(at, unknown, neutral, x)?;
    let reduction = if f.class == "Nanprod" { Reduction::Product } else { Reduction::Sum };
    let total = reduced(at, known, reduction, &axes, f.keepdims)?;
    if f.class != "Nanmean" {
        return Ok(total);
    }
    let counted = super::terms::not(at, unknown)?;
    let count = reduced(at, counted, Reduction::Sum, &axes, f.keepdims)?;
    divide(at, total, count)
}

/// The order is a number, or the text `fro`; of a matrix only that and 1.
fn norm(f: &Named, at: &mut Context<'_>, x: ValueId, axes: &[usize]) -> Made {
    let order = f.numbers.first().copied();
    let euclidean = order.is_none() || (order == Some(2.0) && axes.len() == 1);
    if axes.len() > 2 {
        return Err(at.refusal(&[x], "a norm goes over one axis or two".to_string()));
    }
    if euclidean {
        let square = multiply(at, x, x)?;
        let sum = reduced(at, square, Reduction::Sum, axes, f.keepdims)?;
        return of(at, Unary::Sqrt, sum);
    }
    let (size, order) = (of(at, Unary::Abs, x)?, order.unwrap_or(2.0));
    if let (&[rows, columns], true) = (axes, order == 1.0) {
        let sums = reduced(at, size, Reduction::Sum, &[rows], true)?;
        let largest = reduced(at, sums, Reduction::Max, &[columns], true)?;
        let kept = (0..at.shape(x).rank()).filter(|axis| !axes.contains(axis)).map(|axis| at.shape(x)[axis]);
        let shape = if f.keepdims { at.shape(largest).clone() } else { Shape::new(kept.collect::<Vec<_>>()) };
        return at.reshaped(largest, shape);
    }
    if axes.len() != 1 {
        return Err(at.refusal(&[x], format!("a norm of order {order} of matrices is not supported")));
    }
    if order == 0.0 {
        let truth = truth(at, x)?;
        return reduced(at, truth, Reduction::Sum, axes, f.keepdims);
    }
    let powers = of(at, Unary::PowerScalar(order), size)?;
    let sum = reduced(at, powers, Reduction::Sum, axes, f.keepdims)?;
    of(at, Unary::PowerScalar(1.0 / order), sum)
}

fn normalized(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (axes, order, epsilon) = (f.axes(at, x)?, f.integer(0), f.number(0));
    if order == 2 {
        let square = of(at, Unary::Square, x)?;
        let sum = reduced(at, square, Reduction::Sum, &axes, true)?;
        let inverse = of(at, Unary::Rsqrt, sum)?;
        let most = at.scalar(1.0 / epsilon)?;
        let inverse = both(at, Binary::Minimum, inverse, most)?;
        return multiply(at, x, inverse);
    }
    let settings = Named { numbers: vec![order as f32], keepdims: true, ..Named::default() };
    let norm = norm(&settings, at, x, &axes)?;
    let least = at.scalar(epsilon)?;
    let norm = both(at, Binary::Maximum, norm, least)?;
    divide(at, x, norm)
}

/// `(x - mean) / sqrt(variance + epsilon)`, with offset and scale where they are given: the integers say so.
fn batch_norm(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Made {
    let axis = f.one_axis(at, v[0])?;
    let mut extents = vec![1; at.shape(v[0]).rank()];
    extents[axis] = at.shape(v[0])[axis];
    let mut rest = v[1..].iter().copied();
    let mut next = |at: &mut Context<'_>, given: bool| -> Result<Option<ValueId>, ShapeError> {
        let Some(value) = given.then(|| rest.next()).flatten() else { return Ok(None) };
        at.reshaped(value, Shape::new(extents.clone())).map(Some)
    };
    let (mean, variance) = (next(at, true)?, next(at, true)?);
    let (offset, scale) = (next(at, f.integer(0) == 1)?, next(at, f.integer(1) == 1)?);
    let (Some(mean), Some(variance)) = (mean, variance) else {
        return Err(at.refusal(v, "it takes a mean and a variance".to_string()));
    };
    let safe = shifted(at, variance, f.number(0))?;
    let mut inverse = of(at, Unary::Rsqrt, safe)?;
    if let Some(scale) = scale {
        inverse = multiply(at, inverse, scale)?;
    }
    let product = multiply(at, v[0], inverse)?;
    let centre = multiply(at, mean, inverse)?;
    let shift = match offset {
        Some(offset) => subtract(at, offset, centre)?,
        None => of(at, Unary::Negate, centre)?,
    };
    add(at, product, shift)
}

/// Rows divided by their deviation or their size; scale and shift where they are given: the integers say so.
fn row_norm(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Made {
    let (x, axes) = (v[0], f.axes(at, v[0])?);
    let last = at.shape(x).rank() - axes.len();
    let trailing = axes.iter().enumerate().all(|(place, &axis)| axis == last + place);
    if v.len() > 1 && !trailing {
        return Err(at.refusal(v, "scales of other than the last axes are not supported".to_string()));
    }
    let centred = match f.class.as_str() {
        "LayerNorm" => {
            let mean = reduced(at, x, Reduction::Mean, &axes, true)?;
            subtract(at, x, mean)?
        }
        _ => x,
    };
    let square = of(at, Unary::Square, centred)?;
    let mean = reduced(at, square, Reduction::Mean, &axes, true)?;
    let safe = shifted(at, mean, f.number(0))?;
    let inverse = of(at, Unary::Rsqrt, safe)?;
    let mut y = multiply(at, centred, inverse)?;
    let mut rest = v[1..].iter();
    if let Some(&scale) = rest.next().filter(|_| f.integer(0) == 1) {
        y = multiply(at, y, scale)?;
    }
    let shift = if f.integer(0) == 1 { rest.next() } else { v.get(1) };
    if let Some(&shift) = shift.filter(|_| f.integer(1) == 1) {
        y = add(at, y, shift)?;
    }
    Ok(y)
}

fn one_hot(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let classes = usize::try_from(f.integer(0)).unwrap_or(0);
    let hot = hot(at, x, classes)?;
    let last = at.shape(hot).rank() - 1;
    let axis = f.axis.as_deref().and_then(|axes| axes.first()).copied().unwrap_or(-1);
    let axis = at.axis(axis, hot)?;
    let hot = super::terms::moved(at, hot, last, axis)?;
    if f.class == "OneHot" {
        return Ok(hot);
    }
    let over = if at.shape(x).rank() > 1 { 1 } else { 0 };
    reduced(at, hot, Reduction::Max, &[over], false)
}

/// 1 at the position that a number names, in a new last axis.
fn hot(at: &mut Context<'_>, x: ValueId, classes: usize) -> Made {
    let mut extents = at.shape(x).extents().to_vec();
    extents.push(1);
    let column = at.reshaped(x, Shape::new(extents))?;
    let numbers = counting(at, 0, classes)?;
    both(at, Binary::Equal, column, numbers)
}

/// The halves of an axis.
pub(super) fn halves(at: &mut Context<'_>, x: ValueId, axis: usize) -> Result<[ValueId; 2], ShapeError> {
    let half = at.shape(x)[axis] / 2;
    Ok([part(at, x, axis, 0, half)?, part(at, x, axis, half, half)?])
}
