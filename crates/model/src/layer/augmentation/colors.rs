//! Images of other colours.

use super::{Augmentation, Interval, chosen, clipped, drawn, drawn_as, linear, some};
use crate::layer::Context;
use plimsoll_graph::op::{
    Binary, Concat, DepthwiseConv2d, Fill, Padding, RandomNormal, Reduce, Reduction, Sliding,
};
use plimsoll_graph::{Shape, ShapeError, ValueId};

impl Augmentation {
    pub(super) fn color(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        match self {
            Self::Contrast { factor, range } => {
                let axes = vec![1, 2];
                let mean = at.op(Reduce { reduction: Reduction::Mean, axes, keep_axes: true }, &[x])?;
                let factor = drawn(at, x, 4, *factor)?;
                let apart = at.op(Binary::Subtract, &[x, mean])?;
                let scaled = at.op(Binary::Multiply, &[apart, factor])?;
                let moved = at.op(Binary::Add, &[scaled, mean])?;
                clipped(at, moved, *range)
            }
            Self::Brightness { factor, range } => {
                let draw = drawn(at, x, 4, *factor)?;
                let delta = linear(at, draw, range[1] - range[0], 0.0)?;
                let lighter = at.op(Binary::Add, &[x, delta])?;
                clipped(at, lighter, *range)
            }
            Self::Grayscale { factor } => {
                let mask = some(at, x, [*factor; 2])?;
                let gray = gray(at, x)?;
                chosen(at, mask, [gray, x])
            }
            Self::ColorDegeneration { factor, range } => {
                let gray = gray(at, x)?;
                let factor = drawn(at, x, 4, *factor)?;
                nearer(at, x, gray, factor, *range)
            }
            Self::Invert { factor, range } => {
                let mask = some(at, x, *factor)?;
                let inverted = linear(at, x, -1.0, range[1])?;
                chosen(at, mask, [inverted, x])
            }
            Self::Sharpness { factor, range } => {
                let draw = drawn(at, x, 4, *factor)?;
                let share = linear(at, draw, -2.0, 1.0)?;
                let smooth = smoothed(at, x)?;
                nearer(at, x, smooth, share, *range)
            }
            Self::Solarization { addition, threshold, range } => {
                let bytes = ranged(at, x, *range, [0.0, 255.0])?;
                let addition = drawn(at, x, 4, [addition[0], addition[1] * 255.0])?;
                let threshold = drawn(at, x, 4, [threshold[0], threshold[1] * 255.0])?;
                let lighter = at.op(Binary::Add, &[bytes, addition])?;
                let lighter = clipped(at, lighter, [0.0, 255.0])?;
                let below = at.op(Binary::Less, &[lighter, threshold])?;
                let inverted = linear(at, lighter, -1.0, 255.0)?;
                let result = chosen(at, below, [lighter, inverted])?;
                ranged(at, result, [0.0, 255.0], *range)
            }
            Self::Erasing { factor, scale, fill, range } => {
                let mask = rectangle(at, x, *scale)?;
                let erased = some(at, x, *factor)?;
                let mask = at.op(Binary::Multiply, &[mask, erased])?;
                let fill = filling(at, x, fill.as_deref(), *range)?;
                chosen(at, mask, [fill, x])
            }
            _ => Err(at.refusal(&[x], "it is no change of colours".to_string())),
        }
    }
}

/// `x + share (other - x)` within a range.
fn nearer(
    at: &mut Context<'_>,
    x: ValueId,
    other: ValueId,
    share: ValueId,
    range: Interval,
) -> Result<ValueId, ShapeError> {
    let apart = at.op(Binary::Subtract, &[other, x])?;
    let part = at.op(Binary::Multiply, &[apart, share])?;
    let moved = at.op(Binary::Add, &[x, part])?;
    clipped(at, moved, range)
}

/// The image without colours: one channel.
fn gray(at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
    match at.shape(x).last() {
        1 => Ok(x),
        3 => {
            let weights = at.constant(&[0.2989, 0.5870, 0.1140])?;
            let weighed = at.op(Binary::Multiply, &[x, weights])?;
            at.op(Reduce { reduction: Reduction::Sum, axes: vec![3], keep_axes: true }, &[weighed])
        }
        channels => Err(at.refusal(&[x], format!("it takes 1 or 3 channels, not {channels}"))),
    }
}

fn smoothed(at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
    let channels = at.shape(x).last();
    let part = |at: &mut Context<'_>, pixels: usize, value: f32| {
        at.op(Fill { shape: [pixels, channels].into(), value }, &[])
    };
    let sides = part(at, 4, 1.0 / 13.0)?;
    let middle = part(at, 1, 5.0 / 13.0)?;
    let kernel = at.op(Concat { axis: 0 }, &[sides, middle, sides])?;
    let kernel = at.reshaped(kernel, [3, 3, channels, 1])?;
    let sliding = Sliding { padding: Padding::Same, ..Sliding::default() };
    at.op(DepthwiseConv2d { sliding }, &[x, kernel])
}

/// Pixels of one range in another.
pub(super) fn ranged(
    at: &mut Context<'_>,
    x: ValueId,
    from: Interval,
    to: Interval,
) -> Result<ValueId, ShapeError> {
    if from == to {
        return Ok(x);
    }
    let moved = linear(at, x, 1.0, -from[0])?;
    linear(at, moved, (to[1] - to[0]) / (from[1] - from[0]), to[0])
}

/// 1 in a rectangle that is drawn for each sample, 0 outside, `[batch, rows, columns, 1]`.
fn rectangle(at: &mut Context<'_>, x: ValueId, scale: Interval) -> Result<ValueId, ShapeError> {
    let [_, rows, columns, _] = at.extents(x)?;
    let across = stripe(at, x, scale, columns)?;
    let across = at.reshaped(across, Shape::new([at.shape(across)[0], 1, columns, 1]))?;
    let down = stripe(at, x, scale, rows)?;
    let down = at.reshaped(down, Shape::new([at.shape(down)[0], rows, 1, 1]))?;
    at.op(Binary::Multiply, &[down, across])
}

/// 1 in a run of positions, 0 outside, `[batch, extent]`.
fn stripe(at: &mut Context<'_>, x: ValueId, scale: Interval, extent: usize) -> Result<ValueId, ShapeError> {
    let area = drawn(at, x, 2, scale)?;
    let side = at.op(plimsoll_graph::op::Unary::Sqrt, &[area])?;
    let length = linear(at, side, extent as f32, 0.0)?;
    let room = linear(at, length, -1.0, extent as f32)?;
    let start = drawn(at, x, 2, [0.0, 1.0])?;
    let start = at.op(Binary::Multiply, &[start, room])?;
    let end = at.op(Binary::Add, &[start, length])?;
    let positions: Vec<f32> = (0..extent).map(|position| position as f32).collect();
    let positions = at.constant(&positions)?;
    let after = at.op(Binary::GreaterEqual, &[positions, start])?;
    let before = at.op(Binary::Less, &[positions, end])?;
    at.op(Binary::Multiply, &[after, before])
}

/// What fills a rectangle: noise, or given numbers.
fn filling(
    at: &mut Context<'_>,
    x: ValueId,
    given: Option<&[f32]>,
    range: Interval,
) -> Result<ValueId, ShapeError> {
    let fill = match given {
        Some(&[number]) => drawn_as(at, Shape::new([1, 1, 1, 1]), [number; 2])?,
        Some(numbers) => at.constant(numbers)?,
        None => {
            let (shape, seed) = (at.shape(x).clone(), at.seed());
            let step = at.step()?;
            at.op(RandomNormal { shape, deviation: range[1], seed }, &[step])?
        }
    };
    clipped(at, fill, range)
}
