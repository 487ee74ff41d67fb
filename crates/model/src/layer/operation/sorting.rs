//! Functions of the order of elements, and those that go along a row.

use super::Context;
use super::named::Named;
use super::terms::{
    Made, add, as_floats, as_integers, below, both, choose, counting, divide, gathered, multiply, of, part,
    reduced, scaled, shifted, subtract,
};
use plimsoll_graph::op::{ArgSort, Binary, Cumulate, Reduction, TakeAlong, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    let Some(&x) = v.first() else { return Ok(None) };
    Ok(Some(match f.class.as_str() {
        "Argmax" | "Argmin" => extreme(f, at, x)?,
        "Argsort" | "Sort" => {
            let (row, axis) = row(f, at, x)?;
            let order = at.op(ArgSort { descending: false }, &[row])?;
            let sorted = match f.class.as_str() {
                "Sort" => at.op(TakeAlong {}, &[row, order])?,
                _ => as_floats(at, order)?,
            };
            at.exchanged(sorted, axis)?
        }
        "TopK" => {
            let last = at.axis(-1, x)?;
            let order = at.op(ArgSort { descending: true }, &[x])?;
            let first = part(at, order, last, 0, usize::try_from(f.integer(0)).unwrap_or(0))?;
            match f.part {
                0 => at.op(TakeAlong {}, &[x, first])?,
                _ => as_floats(at, first)?,
            }
        }
        "TakeAlongAxis" => {
            let &[x, positions] = v else { return Ok(None) };
            along(f, at, x, positions)?
        }
        "Cumsum" | "Cumprod" | "Nancumsum" | "Nancumprod" => {
            let product = f.class.ends_with("prod");
            let (mut row, axis) = row(f, at, x)?;
            if f.class.starts_with("Nan") {
                let (unknown, neutral) = (of(at, Unary::IsNan, row)?, at.scalar(f32::from(product))?);
                row = choose(at, unknown, neutral, row)?;
            }
            let sums = at.op(Cumulate { product, ..Cumulate::default() }, &[row])?;
            at.exchanged(sums, axis)?
        }
        "Diff" => {
            let axis = f.one_axis(at, x)?;
            (0..f.integer(0)).try_fold(x, |x, _| difference(at, x, axis))?
        }
        "Trapezoid" => {
            let axis = f.one_axis(at, x)?;
            let count = at.shape(x)[axis] - 1;
            let (later, earlier) = (part(at, x, axis, 1, count)?, part(at, x, axis, 0, count)?);
            let sum = add(at, later, earlier)?;
            let heights = scaled(at, sum, 0.5 * f.number(0))?;
            reduced(at, heights, Reduction::Sum, &[axis], false)?
        }
        "Median" | "Quantile" | "Percentile" => quantiles(f, at, x)?,
        "Digitize" => {
            let &[x, bins] = v else { return Ok(None) };
            count_of(at, x, bins, true)?
        }
        "SearchSorted" => {
            let &[sequence, values] = v else { return Ok(None) };
            count_of(at, values, sequence, f.text == "right")?
        }
        "InTopK" => {
            let &[targets, x] = v else { return Ok(None) };
            let rows = at.shape(targets).elements();
            let positions = at.reshaped(targets, [rows, 1])?;
            let positions = as_integers(at, positions)?;
            let own = at.op(TakeAlong {}, &[x, positions])?;
            let larger = below(at, own, x)?;
            let better = reduced(at, larger, Reduction::Sum, &[1], false)?;
            let most = at.scalar(f.integer(0) as f32)?;
            below(at, better, most)?
        }
        "Sparsemax" => sparsemax(f, at, x)?,
        _ => return Ok(None),
    }))
}

/// The value with the axis last, and where it was; everything as one row if there is no axis.
fn row(f: &Named, at: &mut Context<'_>, x: ValueId) -> Result<(ValueId, usize), ShapeError> {
    if f.axis.is_none() {
        let count = at.shape(x).elements();
        return Ok((at.reshaped(x, [count])?, 0));
    }
    let axis = f.one_axis(at, x)?;
    Ok((at.exchanged(x, axis)?, axis))
}

fn extreme(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (row, axis) = row(f, at, x)?;
    let order = at.op(ArgSort { descending: f.class == "Argmax" }, &[row])?;
    let last = at.shape(row).rank() - 1;
    let first = part(at, order, last, 0, 1)?;
    let first = as_floats(at, first)?;
    let kept = at.exchanged(first, axis)?;
    let extents = at.shape(x).extents().to_vec();
    let gone = |other: usize| f.axis.is_none() || other == axis;
    let shape = (0..extents.len()).filter_map(|other| match gone(other) {
        true => f.keepdims.then_some(1),
        false => Some(extents[other]),
    });
    at.reshaped(kept, Shape::new(shape.collect::<Vec<_>>()))
}

/// Positions below 0 count from the end; extents of 1 are stretched to each other.
fn along(f: &Named, at: &mut Context<'_>, x: ValueId, positions: ValueId) -> Made {
    if f.axis.is_none() {
        return Err(at.refusal(&[x, positions], "it takes one axis".to_string()));
    }
    let axis = f.one_axis(at, x)?;
    let (mut own, mut theirs) = (at.shape(x).extents().to_vec(), at.shape(positions).extents().to_vec());
    if own.len() != theirs.len() {
        return Err(at.refusal(&[x, positions], "the ranks differ".to_string()));
    }
    let (extent, count) = (own[axis], theirs[axis]);
    for other in (0..own.len()).filter(|&other| other != axis) {
        let larger = own[other].max(theirs[other]);
        (own[other], theirs[other]) = (larger, larger);
    }
    (own[axis], theirs[axis]) = (extent, count);
    let x = super::terms::stretched(at, x, &Shape::new(own))?;
    let positions = super::terms::stretched(at, positions, &Shape::new(theirs))?;
    let (zero, from_end) = (at.scalar(0.0)?, shifted(at, positions, extent as f32)?);
    let negative = below(at, positions, zero)?;
    let positions = choose(at, negative, from_end, positions)?;
    let positions = as_integers(at, positions)?;
    let (row, positions) = (at.exchanged(x, axis)?, at.exchanged(positions, axis)?);
    let taken = at.op(TakeAlong {}, &[row, positions])?;
    at.exchanged(taken, axis)
}

fn difference(at: &mut Context<'_>, x: ValueId, axis: usize) -> Made {
    let count = at.shape(x)[axis].saturating_sub(1);
    let (later, earlier) = (part(at, x, axis, 1, count)?, part(at, x, axis, 0, count)?);
    subtract(at, later, earlier)
}

/// The shares are the numbers; several of them become a new first axis.
fn quantiles(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let axes = f.axes(at, x)?;
    let kept: Vec<usize> = (0..at.shape(x).rank()).filter(|axis| !axes.contains(axis)).collect();
    let extents = at.shape(x).extents().to_vec();
    let rows = gathered(at, x, &axes)?;
    let order = at.op(ArgSort { descending: false }, &[rows])?;
    let sorted = at.op(TakeAlong {}, &[rows, order])?;
    let shape = (0..extents.len()).filter_map(|axis| match kept.contains(&axis) {
        true => Some(extents[axis]),
        false => f.keepdims.then_some(1),
    });
    let shape: Vec<usize> = shape.collect();
    let mut parts = Vec::new();
    for &share in &f.numbers {
        let one = quantile(at, sorted, f64::from(share))?;
        let stacked = if f.integer(0) == 1 { [&[1], &shape[..]].concat() } else { shape.clone() };
        parts.push(at.reshaped(one, Shape::new(stacked))?);
    }
    match parts[..] {
        [single] => Ok(single),
        _ => at.op(plimsoll_graph::op::Concat { axis: 0 }, &parts),
    }
}

fn quantile(at: &mut Context<'_>, sorted: ValueId, share: f64) -> Made {
    let (last, count) = (at.shape(sorted).rank() - 1, at.shape(sorted).last());
    let exact = (count - 1) as f64 * share;
    let higher = (exact.ceil().max(0.0) as usize).min(count - 1);
    // The gradient goes to both neighbours, by their shares.
    let smaller = higher.saturating_sub(1);
    let fraction = higher as f64 - exact;
    let (large, small) = (part(at, sorted, last, higher, 1)?, part(at, sorted, last, smaller, 1)?);
    let (large, small) = (scaled(at, large, (1.0 - fraction) as f32)?, scaled(at, small, fraction as f32)?);
    add(at, large, small)
}

/// How many of a sorted row stand before each element: below it, or below and equal.
fn count_of(at: &mut Context<'_>, x: ValueId, bounds: ValueId, equal: bool) -> Made {
    if at.shape(bounds).rank() != 1 {
        return Err(at.refusal(&[x, bounds], "bounds of one axis are supported".to_string()));
    }
    let mut extents = at.shape(x).extents().to_vec();
    extents.push(1);
    let column = at.reshaped(x, Shape::new(extents))?;
    let before = match equal {
        true => both(at, Binary::GreaterEqual, column, bounds)?,
        false => below(at, bounds, column)?,
    };
    let last = at.shape(before).rank() - 1;
    reduced(at, before, Reduction::Sum, &[last], false)
}

/// Martins and Astudillo 2016, but for the threshold, which Keras makes of sums of sums.
fn sparsemax(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let axis = f.one_axis(at, x)?;
    let row = at.exchanged(x, axis)?;
    let (last, count) = (at.shape(row).rank() - 1, at.shape(row).last());
    let order = at.op(ArgSort { descending: true }, &[row])?;
    let sorted = at.op(TakeAlong {}, &[row, order])?;
    let sums = at.op(Cumulate::default(), &[sorted])?;
    let numbers = counting(at, 1, count)?;
    let weighted = multiply(at, sorted, numbers)?;
    let weighted = shifted(at, weighted, 1.0)?;
    let supports = below(at, sums, weighted)?;
    let many = reduced(at, supports, Reduction::Sum, &[last], true)?;
    let zero = at.scalar(0.0)?;
    let chosen = choose(at, supports, sums, zero)?;
    let sum = reduced(at, chosen, Reduction::Sum, &[last], true)?;
    let excess = shifted(at, sum, -1.0)?;
    let threshold = divide(at, excess, many)?;
    let rest = subtract(at, row, threshold)?;
    let positive = both(at, Binary::Maximum, rest, zero)?;
    at.exchanged(positive, axis)
}
