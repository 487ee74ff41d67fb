//! Functions that move elements: flips, rolls, repetitions, paddings, parts.

use super::Context;
use super::named::Named;
use super::reductions::halves;
use super::terms::{
    Made, alike, choose, constant, multiply, of, part, picked, reduced, scaled, stretched, subtract, taken,
};
use plimsoll_graph::op::{Concat, EmbeddingGradient, Pad, Reduction, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    let Some(&x) = v.first() else { return Ok(None) };
    Ok(Some(match f.class.as_str() {
        "Moveaxis" => moved_axes(f, at, x)?,
        "Swapaxes" => {
            let mut order: Vec<usize> = (0..at.shape(x).rank()).collect();
            order.swap(at.axis(f.integer(0), x)?, at.axis(f.integer(1), x)?);
            at.transposed(x, order)?
        }
        "Flip" | "Fliplr" | "Flipud" => {
            let axes = match f.class.as_str() {
                "Fliplr" => vec![at.axis(1, x)?],
                "Flipud" => vec![at.axis(0, x)?],
                _ => f.axes(at, x)?,
            };
            axes.into_iter().try_fold(x, |x, axis| flipped(at, x, axis))?
        }
        "Rot90" => rotated(f, at, x)?,
        "Roll" => rolled(f, at, x)?,
        "Repeat" => {
            let count = usize::try_from(f.integer(0)).unwrap_or(0);
            let (x, axis) = flat_or_axis(f, at, x)?;
            let positions = (0..at.shape(x)[axis] * count).map(|position| position / count.max(1));
            picked(at, x, axis, &positions.collect::<Vec<_>>())?
        }
        "Tile" => tiled(f, at, x)?,
        "Pad" => padded(f, at, x)?,
        "Split" | "ArraySplit" | "Hsplit" | "Vsplit" | "Dsplit" => split(f, at, x)?,
        "Unstack" => {
            let axis = f.one_axis(at, x)?;
            let one = part(at, x, axis, f.part, 1)?;
            let mut extents = at.shape(one).extents().to_vec();
            extents.remove(axis);
            at.reshaped(one, Shape::new(extents))?
        }
        "Take" => {
            let &[x, ids] = v else { return Ok(None) };
            let (x, axis) = flat_or_axis(f, at, x)?;
            let extent = at.shape(x)[axis] as f32;
            let (zero, from_end) = (at.scalar(0.0)?, super::terms::shifted(at, ids, extent)?);
            let negative = super::terms::below(at, ids, zero)?;
            let ids = choose(at, negative, from_end, ids)?;
            taken(at, x, ids, axis)?
        }
        "BroadcastTo" => {
            let shape = sizes(at, &f.integers)?;
            stretched(at, x, &Shape::new(shape))?
        }
        "Ravel" => {
            let count = at.shape(x).elements();
            at.reshaped(x, [count])?
        }
        "ExpandDims" => {
            let mut axes = Vec::new();
            let rank = (at.shape(x).rank() + f.integers.len()) as isize;
            for &axis in &f.integers {
                axes.push(if axis < 0 { axis + rank } else { axis });
            }
            axes.sort_unstable();
            axes.into_iter().try_fold(x, |x, axis| super::shape::expand(at, x, axis))?
        }
        "Append" | "Hstack" | "Vstack" | "Dstack" => joined(f, at, v)?,
        "Meshgrid" => grid(f, at, v)?,
        "Slice" => {
            let (start, size) = f.integers.split_at(f.integers.len() / 2);
            let (start, size) = (sizes(at, start)?, sizes(at, size)?);
            at.op(plimsoll_graph::op::Slice { start, size }, &[x])?
        }
        "SliceUpdate" => {
            let &[x, update] = v else { return Ok(None) };
            updated(f, at, x, update)?
        }
        "Tril" | "Triu" => triangle(f, at, x)?,
        "Diagonal" | "Trace" => diagonal(f, at, x)?,
        "Diag" if at.shape(x).rank() == 2 => {
            let turned =
                Named { class: "Diagonal".to_string(), integers: vec![f.integer(0), 0, 1], ..f.clone() };
            diagonal(&turned, at, x)?
        }
        "Diag" | "Diagflat" => on_diagonal(f, at, x)?,
        "Vander" => {
            let count = usize::try_from(f.integer(0)).unwrap_or(0);
            let column = super::shape::expand(at, x, -1)?;
            let powers: Vec<f32> = (0..count).map(|power| power as f32).collect();
            let powers = if f.integer(1) == 1 { powers } else { powers.into_iter().rev().collect() };
            let powers = constant(at, &[count], powers)?;
            super::terms::both(at, plimsoll_graph::op::Binary::Power, column, powers)?
        }
        "Linspace" => {
            let &[start, stop] = v else { return Ok(None) };
            between(f, at, start, stop)?
        }
        "Glu" => {
            let axis = f.one_axis(at, x)?;
            let [value, gate] = halves(at, x, axis)?;
            let gate = of(at, Unary::Sigmoid, gate)?;
            multiply(at, value, gate)?
        }
        "SegmentSum" => {
            let &[x, ids] = v else { return Ok(None) };
            let extents = at.shape(x).extents().to_vec();
            let flat = at.reshaped(x, [extents[0], extents[1..].iter().product()])?;
            let (ids, rows) =
                (super::terms::as_integers(at, ids)?, usize::try_from(f.integer(0)).unwrap_or(0));
            let sums = at.op(EmbeddingGradient { rows }, &[ids, flat])?;
            at.reshaped(sums, Shape::new([&[rows], &extents[1..]].concat()))?
        }
        _ => return Ok(None),
    }))
}

fn sizes(at: &Context<'_>, integers: &[isize]) -> Result<Vec<usize>, ShapeError> {
    let sizes: Result<Vec<usize>, _> = integers.iter().map(|&size| usize::try_from(size)).collect();
    sizes.map_err(|_| at.refusal(&[], format!("{integers:?} has extents that are not known")))
}

fn flat_or_axis(f: &Named, at: &mut Context<'_>, x: ValueId) -> Result<(ValueId, usize), ShapeError> {
    if f.axis.is_some() {
        return Ok((x, f.one_axis(at, x)?));
    }
    let count = at.shape(x).elements();
    Ok((at.reshaped(x, [count])?, 0))
}

/// The first half of the integers are the axes to move, the others where they go.
fn moved_axes(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (from, to) = f.integers.split_at(f.integers.len() / 2);
    let position = |axes: &[isize]| axes.iter().map(|&axis| at.axis(axis, x)).collect::<Result<Vec<_>, _>>();
    let (from, to) = (position(from)?, position(to)?);
    let mut order: Vec<usize> = (0..at.shape(x).rank()).filter(|axis| !from.contains(axis)).collect();
    let mut pairs: Vec<(usize, usize)> = to.into_iter().zip(from).collect();
    pairs.sort_unstable();
    for (to, from) in pairs {
        order.insert(to, from);
    }
    at.transposed(x, order)
}

fn flipped(at: &mut Context<'_>, x: ValueId, axis: usize) -> Made {
    let positions: Vec<usize> = (0..at.shape(x)[axis]).rev().collect();
    picked(at, x, axis, &positions)
}

fn rotated(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (first, second) = (at.axis(f.integer(1), x)?, at.axis(f.integer(2), x)?);
    let mut order: Vec<usize> = (0..at.shape(x).rank()).collect();
    order.swap(first, second);
    match f.integer(0).rem_euclid(4) {
        0 => Ok(x),
        1 => {
            let turned = flipped(at, x, second)?;
            at.transposed(turned, order)
        }
        2 => {
            let turned = flipped(at, x, first)?;
            flipped(at, turned, second)
        }
        _ => {
            let turned = at.transposed(x, order)?;
            flipped(at, turned, second)
        }
    }
}

fn rolled(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let shape = at.shape(x).clone();
    let (mut y, axes) = match f.axis {
        Some(_) => (x, f.axes(at, x)?),
        None => (at.reshaped(x, [shape.elements()])?, vec![0]),
    };
    for (place, axis) in axes.into_iter().enumerate() {
        let extent = at.shape(y)[axis];
        let shift = f.integers.get(place).or(f.integers.first()).copied().unwrap_or(0);
        let shift = shift.rem_euclid(extent as isize).unsigned_abs();
        if shift > 0 {
            let (end, start) =
                (part(at, y, axis, extent - shift, shift)?, part(at, y, axis, 0, extent - shift)?);
            y = at.op(Concat { axis }, &[end, start])?;
        }
    }
    at.reshaped(y, shape)
}

fn tiled(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let mut repeats = sizes(at, &f.integers)?;
    let mut extents = at.shape(x).extents().to_vec();
    while repeats.len() < extents.len() {
        repeats.insert(0, 1);
    }
    while extents.len() < repeats.len() {
        extents.insert(0, 1);
    }
    let mut y = at.reshaped(x, Shape::new(extents))?;
    for (axis, count) in repeats.into_iter().enumerate().filter(|&(_, count)| count != 1) {
        y = at.op(Concat { axis }, &vec![y; count])?;
    }
    Ok(y)
}

/// Pairs of integers are what is added before and after each axis; the text is the mode.
fn padded(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let widths = sizes(at, &f.integers)?;
    let rank = at.shape(x).rank();
    let pair = |axis: usize| match widths[..] {
        [one] => (one, one),
        [before, after] => (before, after),
        _ => (widths[2 * axis], widths[2 * axis + 1]),
    };
    if widths.len() > 2 && widths.len() != 2 * rank {
        return Err(at.refusal(&[x], format!("the padding is not of rank {rank}")));
    }
    let (before, after): (Vec<usize>, Vec<usize>) = (0..rank).map(pair).unzip();
    if f.text == "constant" {
        return at.op(Pad { before, after, value: f.number(0) }, &[x]);
    }
    let mut y = x;
    for axis in (0..rank).filter(|&axis| before[axis] + after[axis] > 0) {
        let extent = at.shape(y)[axis];
        let edge = usize::from(f.text == "reflect");
        if before[axis] + edge > extent || after[axis] + edge > extent {
            return Err(at.refusal(&[x], format!("the padding of axis {axis} is larger than the axis")));
        }
        let left = (0..before[axis]).map(|position| before[axis] - 1 - position + edge);
        let right = (0..after[axis]).map(|position| extent - 1 - edge - position);
        let positions: Vec<usize> = left.chain(0..extent).chain(right).collect();
        y = picked(at, y, axis, &positions)?;
    }
    Ok(y)
}

/// The integers are where parts begin, or how many there are if the text is `sections`; the last part may be smaller
/// than the others if it is `array`.
fn split(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let axis = match f.class.as_str() {
        "Hsplit" => usize::from(at.shape(x).rank() > 1),
        "Vsplit" => 0,
        "Dsplit" => 2,
        _ => f.one_axis(at, x)?,
    };
    let axis = at.axis(axis as isize, x)?;
    let extent = at.shape(x)[axis];
    let bounds: Vec<usize> = match f.text.as_str() {
        "sections" => {
            let count = usize::try_from(f.integer(0)).unwrap_or(0).max(1);
            if f.class != "ArraySplit" && !extent.is_multiple_of(count) {
                return Err(at.refusal(&[x], format!("axis {axis} cannot be cut into {count} equal parts")));
            }
            let (each, more) = (extent / count, extent % count);
            (0..=count).map(|place| place * each + place.min(more)).collect()
        }
        _ => {
            let inner = f.integers.iter().map(|&bound| super::index::bound(bound, extent));
            std::iter::once(0).chain(inner).chain([extent]).collect()
        }
    };
    let (first, end) = (bounds[f.part], bounds[f.part + 1]);
    match end > first {
        true => part(at, x, axis, first, end - first),
        false => Err(at.refusal(&[x], format!("part {} of axis {axis} is empty", f.part))),
    }
}

fn joined(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Made {
    let mut parts = Vec::new();
    for &x in v {
        let extents = at.shape(x).extents().to_vec();
        parts.push(match (f.class.as_str(), &extents[..]) {
            ("Append", _) if f.axis.is_none() => at.reshaped(x, [extents.iter().product::<usize>()])?,
            ("Vstack", &[n]) => at.reshaped(x, [1, n])?,
            ("Dstack", &[n]) => at.reshaped(x, [1, n, 1])?,
            ("Dstack", &[n, m]) => at.reshaped(x, [n, m, 1])?,
            _ => x,
        });
    }
    let Some(&first) = parts.first() else {
        return Err(at.refusal(v, "there is nothing to join".to_string()));
    };
    let axis = match f.class.as_str() {
        "Hstack" => usize::from(at.shape(first).rank() > 1),
        "Vstack" => 0,
        "Dstack" => 2,
        _ if f.axis.is_none() => 0,
        _ => f.one_axis(at, first)?,
    };
    at.op(Concat { axis }, &parts)
}

fn grid(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Made {
    let mut extents: Vec<usize> = v.iter().map(|&x| at.shape(x).elements()).collect();
    let mut axis = f.part;
    if f.text == "xy" && v.len() > 1 {
        extents.swap(0, 1);
        axis = if axis < 2 { 1 - axis } else { axis };
    }
    let mut own = vec![1; extents.len()];
    own[axis] = extents[axis];
    let row = at.reshaped(v[f.part], Shape::new(own))?;
    stretched(at, row, &Shape::new(extents))
}

fn updated(f: &Named, at: &mut Context<'_>, x: ValueId, update: ValueId) -> Made {
    let start = sizes(at, &f.integers)?;
    let (whole, own) = (at.shape(x).extents().to_vec(), at.shape(update).extents().to_vec());
    let fits = start.len() == whole.len() && own.len() == whole.len();
    let after: Option<Vec<usize>> = fits
        .then(|| (0..whole.len()).map(|axis| whole[axis].checked_sub(start[axis] + own[axis])).collect())
        .flatten();
    let after = after.ok_or_else(|| at.refusal(&[x, update], "what is put in does not fit".to_string()))?;
    let ones = alike(at, update, 1.0)?;
    let inside = at.op(Pad { before: start.clone(), after: after.clone(), value: 0.0 }, &[ones])?;
    let update = at.op(Pad { before: start, after, value: 0.0 }, &[update])?;
    choose(at, inside, update, x)
}

fn triangle(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let extents = at.shape(x).extents().to_vec();
    let &[.., rows, columns] = &extents[..] else {
        return Err(at.refusal(&[x], "it takes matrices".to_string()));
    };
    let lower = |row: usize, column: usize| (column as isize) <= row as isize + f.integer(0);
    let upper = |row: usize, column: usize| (column as isize) >= row as isize + f.integer(0);
    let kept = |row, column| if f.class == "Tril" { lower(row, column) } else { upper(row, column) };
    let mask = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let mask =
        constant(at, &[rows, columns], mask.map(|(row, column)| f32::from(kept(row, column))).collect())?;
    let zero = at.scalar(0.0)?;
    choose(at, mask, x, zero)
}

/// The integers are the offset and two axes.
fn diagonal(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let (first, second) = (at.axis(f.integer(1), x)?, at.axis(f.integer(2), x)?);
    let (rows, columns, offset) = (at.shape(x)[first], at.shape(x)[second], f.integer(0));
    let place = |row: usize| {
        let column = usize::try_from(row as isize + offset).ok().filter(|&column| column < columns)?;
        Some(row * columns + column)
    };
    let places: Vec<usize> = (0..rows).filter_map(place).collect();
    if places.is_empty() {
        return Err(at.refusal(&[x], "the diagonal has no elements".to_string()));
    }
    let flat = super::terms::gathered(at, x, &[first, second])?;
    let last = at.shape(flat).rank() - 1;
    let taken = picked(at, flat, last, &places)?;
    match f.class.as_str() {
        "Trace" => reduced(at, taken, Reduction::Sum, &[last], false),
        _ => Ok(taken),
    }
}

fn on_diagonal(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let count = at.shape(x).elements();
    let row = at.reshaped(x, [1, count])?;
    let size = count + f.integer(0).unsigned_abs();
    let mut mask = vec![0.0; size * count];
    for place in 0..count {
        let target = if f.integer(0) < 0 { place + f.integer(0).unsigned_abs() } else { place };
        mask[target * count + place] = 1.0;
    }
    // A row for each result; its only element stands where the offset says.
    let mask = constant(at, &[size, count], mask)?;
    let zero = at.scalar(0.0)?;
    let spread = choose(at, mask, row, zero)?;
    let mut shift = vec![0.0; count * size];
    for place in 0..count {
        let column = if f.integer(0) > 0 { place + f.integer(0).unsigned_abs() } else { place };
        shift[place * size + column] = 1.0;
    }
    let shift = constant(at, &[count, size], shift)?;
    at.op(plimsoll_graph::op::MatMul::default(), &[spread, shift])
}

/// The integers are the count and whether the end belongs to it.
fn between(f: &Named, at: &mut Context<'_>, start: ValueId, stop: ValueId) -> Made {
    let (count, whole) = (usize::try_from(f.integer(0)).unwrap_or(0), f.integer(1) == 1);
    let steps = if whole { count.saturating_sub(1).max(1) } else { count.max(1) };
    let distance = subtract(at, stop, start)?;
    let step = scaled(at, distance, 1.0 / steps as f32)?;
    let axis = f.axis.as_deref().and_then(|axes| axes.first()).copied().unwrap_or(0);
    let mut parts = Vec::new();
    for number in 0..count {
        let position = match whole && number + 1 == count && count > 1 {
            true => stop,
            false => {
                let far = scaled(at, step, number as f32)?;
                super::terms::add(at, start, far)?
            }
        };
        parts.push(super::shape::expand(at, position, axis)?);
    }
    let first = *parts.first().ok_or_else(|| at.refusal(&[start], "there are no numbers".to_string()))?;
    let axis = at.axis(axis, first)?;
    at.op(Concat { axis }, &parts)
}
