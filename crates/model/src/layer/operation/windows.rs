//! Functions that slide windows over images and sequences, or rearrange their pixels.

use super::Context;
use super::named::Named;
use super::terms::{Made, constant, multiply, part, reduced};
use crate::layer::conv1d::{as_row, as_sequence};
use plimsoll_graph::op::{
    Attention, Conv2d, DepthwiseConv2d, Interpolation, Pad, Padding, Pool, Pool2d, Reduction, Resize2d,
    Sliding,
};
use plimsoll_graph::{Shape, ShapeError, ValueId};

/// The most elements of a filter that only moves pixels.
const LARGEST_FILTER: usize = 1 << 16;

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    let Some(&x) = v.first() else { return Ok(None) };
    Ok(Some(match f.class.as_str() {
        "AveragePool" | "MaxPool" => {
            let pool = if f.class == "MaxPool" { Pool::Max } else { Pool::Average };
            let [window, strides] = pairs(f, at, x)?;
            let sliding = Sliding { strides, padding: padding(f, at)?, ..Sliding::default() };
            as_images(at, &[x], |at, v| at.op(Pool2d { pool, window, sliding }, &[v[0]]))?
        }
        "Conv" | "DepthwiseConv" | "SeparableConv" => {
            let [strides, dilation] = pairs(f, at, x)?;
            let sliding = Sliding { strides, dilation, padding: padding(f, at)? };
            as_images(at, v, |at, v| convolved(f, at, v, sliding))?
        }
        "DepthToSpace" => {
            let ([n, h, w, c], block) = (at.extents(x)?, size(f, 0));
            let inner = c / (block * block).max(1);
            let apart = at.reshaped(x, [n, h, w, block, block, inner])?;
            let turned = at.transposed(apart, vec![0, 1, 3, 2, 4, 5])?;
            at.reshaped(turned, [n, h * block, w * block, inner])?
        }
        "SpaceToDepth" => {
            let ([n, h, w, c], block) = (at.extents(x)?, size(f, 0));
            let (rows, columns) = (h / block.max(1), w / block.max(1));
            let apart = at.reshaped(x, [n, rows, block, columns, block, c])?;
            let turned = at.transposed(apart, vec![0, 1, 3, 2, 4, 5])?;
            at.reshaped(turned, [n, rows, columns, block * block * c])?
        }
        "ExtractPatches" => {
            let [window, strides, dilation] = [0, 2, 4].map(|place| [size(f, place), size(f, place + 1)]);
            let sliding = Sliding { strides, dilation, padding: padding(f, at)? };
            patches(at, x, window, sliding)?
        }
        "Unfold" => unfolded(f, at, x)?,
        "CropImages" => cropped(f, at, x)?,
        "PadImages" => {
            let [top, left, bottom, right] = [0, 1, 2, 3].map(|place| size(f, place));
            let lead = vec![0; at.shape(x).rank().saturating_sub(3)];
            let before = [&lead[..], &[top, left, 0]].concat();
            let after = [&lead[..], &[bottom, right, 0]].concat();
            at.op(Pad { before, after, value: 0.0 }, &[x])?
        }
        "Resize" => {
            let interpolation =
                if f.text == "nearest" { Interpolation::Nearest } else { Interpolation::Bilinear };
            at.op(Resize2d { interpolation, size: [size(f, 0), size(f, 1)], antialias: false }, &[x])?
        }
        "RGBToGrayscale" => {
            let last = at.axis(-1, x)?;
            let weights = constant(at, &[3], vec![0.2989, 0.587, 0.114])?;
            let product = multiply(at, x, weights)?;
            reduced(at, product, Reduction::Sum, &[last], true)?
        }
        "DotProductAttention" => {
            let &[q, k, v] = v else { return Ok(None) };
            let [_, _, _, width] = at.extents(k)?;
            let scale = f.numbers.first().copied().unwrap_or((1.0 / (width as f64).sqrt()) as f32);
            at.op(Attention { scale, causal: f.integer(0) == 1 }, &[q, k, v])?
        }
        _ => return Ok(None),
    }))
}

fn size(f: &Named, position: usize) -> usize {
    usize::try_from(f.integer(position)).unwrap_or(0)
}

/// Two settings of one or two axes each; what is given once is for both.
fn pairs(f: &Named, at: &Context<'_>, x: ValueId) -> Result<[[usize; 2]; 2], ShapeError> {
    let axes = at.shape(x).rank().saturating_sub(2);
    let all: Option<Vec<usize>> = f.integers.iter().map(|&one| usize::try_from(one).ok()).collect();
    let half = f.integers.len() / 2;
    let fits = (axes == 1 || axes == 2) && (half == 1 || half == axes) && f.integers.len() == 2 * half;
    let all = all
        .filter(|_| fits)
        .ok_or_else(|| at.refusal(&[x], "images and sequences are supported".to_string()))?;
    let pair = |part: &[usize]| match *part {
        [one] if axes == 1 => [1, one],
        [one] => [one, one],
        [rows, columns] => [rows, columns],
        _ => [1, 1],
    };
    Ok([pair(&all[..half]), pair(&all[half..])])
}

fn padding(f: &Named, at: &Context<'_>) -> Result<Padding, ShapeError> {
    match f.text.as_str() {
        "valid" => Ok(Padding::Valid),
        "same" => Ok(Padding::Same),
        other => Err(at.refusal(&[], format!("padding `{other}` is not supported"))),
    }
}

/// A sequence is an image of one row, and its filters have one row, too.
fn as_images(
    at: &mut Context<'_>,
    v: &[ValueId],
    then: impl FnOnce(&mut Context<'_>, &[ValueId]) -> Made,
) -> Made {
    if at.shape(v[0]).rank() != 3 {
        return then(at, v);
    }
    let mut images = vec![as_row(at, v[0])?];
    for &filter in &v[1..] {
        let extents = [&[1], at.shape(filter).extents()].concat();
        images.push(at.reshaped(filter, Shape::new(extents))?);
    }
    let y = then(at, &images)?;
    as_sequence(at, y)
}

fn convolved(f: &Named, at: &mut Context<'_>, v: &[ValueId], sliding: Sliding) -> Made {
    let (&[x, filter], rest) = v.split_at(2) else {
        return Err(at.refusal(v, "it takes images and a filter".to_string()));
    };
    if f.class == "Conv" {
        let ([_, _, _, channels], [_, _, own, _]) = (at.extents::<4>(x)?, at.extents::<4>(filter)?);
        return at.op(Conv2d { sliding, groups: channels / own.max(1) }, &[x, filter]);
    }
    let y = at.op(DepthwiseConv2d { sliding }, &[x, filter])?;
    match rest {
        [] => Ok(y),
        &[pointwise] => at.op(Conv2d { sliding: Sliding::default(), groups: 1 }, &[y, pointwise]),
        _ => Err(at.refusal(v, "it takes two filters".to_string())),
    }
}

/// Windows as channels, by a filter that picks one pixel each, as Keras does it.
fn patches(at: &mut Context<'_>, x: ValueId, [rows, columns]: [usize; 2], sliding: Sliding) -> Made {
    let [_, _, _, channels] = at.extents(x)?;
    let count = at.product(&[rows, columns, channels])?;
    if at.product(&[count, count])? > LARGEST_FILTER {
        return Err(at.refusal(&[x], format!("windows of {count} numbers are not supported")));
    }
    let unit = (0..count * count).map(|place| f32::from(place / count == place % count));
    let filter = constant(at, &[rows, columns, channels, count], unit.collect())?;
    at.op(Conv2d { sliding, groups: 1 }, &[x, filter])
}

/// Images with channels first; the integers are window, dilation, padding and strides.
fn unfolded(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let [window, dilation, around, strides] = [0, 2, 4, 6].map(|place| [size(f, place), size(f, place + 1)]);
    let [n, channels, _, _] = at.extents(x)?;
    let images = at.transposed(x, vec![0, 2, 3, 1])?;
    let padding = Padding::Explicit { before: around, after: around };
    let windows = patches(at, images, window, Sliding { strides, dilation, padding })?;
    let [_, rows, columns, _] = at.extents(windows)?;
    let apart = at.reshaped(windows, [n, rows, columns, window[0], window[1], channels])?;
    let turned = at.transposed(apart, vec![0, 5, 3, 4, 1, 2])?;
    at.reshaped(turned, [n, channels * window[0] * window[1], rows * columns])
}

/// The integers are what is cut off at the top, left, bottom and right, then the height and the width; -1 where not
/// given.
fn cropped(f: &Named, at: &mut Context<'_>, x: ValueId) -> Made {
    let rank = at.shape(x).rank();
    let mut y = x;
    for (axis, before, after, wanted) in [(rank - 3, 0, 2, 4), (rank - 2, 1, 3, 5)] {
        let given = |place: usize| usize::try_from(f.integer(place)).ok();
        let extent = at.shape(x)[axis];
        let (first, count) = match (given(before), given(after), given(wanted)) {
            (Some(first), _, Some(count)) => (first, Some(count)),
            (Some(first), Some(last), None) => (first, extent.checked_sub(first + last)),
            (None, Some(last), Some(count)) => (extent.saturating_sub(last + count), Some(count)),
            _ => (0, None),
        };
        let fits = count.filter(|&count| count > 0 && first + count <= extent);
        let count =
            fits.ok_or_else(|| at.refusal(&[x], "the part does not lie within the image".to_string()))?;
        y = part(at, y, axis, first, count)?;
    }
    Ok(y)
}
