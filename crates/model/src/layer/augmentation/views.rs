//! Images seen through a map that is drawn for each sample.

use super::{Augmentation, Interval, View, drawn, drawn_as, linear};
use crate::layer::Context;
use plimsoll_graph::op::{Binary, Cast, Concat, Fill, Interpolation, Outside, Resize2d, Slice, Unary, Warp};
use plimsoll_graph::{ElementType, Shape, ShapeError, ValueId};
use std::f32::consts::TAU;

/// Mirroring and cutting move whole pixels.
const WHOLE: View = View { interpolation: Interpolation::Nearest, outside: Outside::Constant(0.0) };

/// An entry of a map: the same number for all samples, or one for each, `[batch, 1]`.
#[derive(Clone, Copy)]
enum Entry {
    Same(f32),
    Each(ValueId),
}
use Entry::{Each, Same};

impl Augmentation {
    pub(super) fn view(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let [batch, rows, columns, _] = at.extents(x)?;
        let centre = [(rows as f32 - 1.0) / 2.0, (columns as f32 - 1.0) / 2.0];
        match *self {
            Self::Flip { horizontal, vertical } => {
                let draw = drawn(at, x, 2, [0.0, 1.0])?;
                let half = at.scalar(0.5)?;
                // Keras draws once for both directions.
                let flips = at.op(Binary::GreaterEqual, &[half, draw])?;
                let mut turned = |on: bool, extent: usize| -> Result<[Entry; 2], ShapeError> {
                    if !on {
                        return Ok([Same(1.0), Same(0.0)]);
                    }
                    let scale = linear(at, flips, -2.0, 1.0)?;
                    let offset = linear(at, flips, extent as f32 - 1.0, 0.0)?;
                    Ok([Each(scale), Each(offset)])
                };
                let [across, left] = turned(horizontal, columns)?;
                let [down, top] = turned(vertical, rows)?;
                warped(at, x, [across, Same(0.0), left, Same(0.0), down, top], WHOLE, [rows, columns])
            }
            Self::Rotation { factor, view } => {
                let angle = drawn(at, x, 2, factor.map(|part| part * TAU))?;
                let (cos, sin) = (at.op(Unary::Cos, &[angle])?, at.op(Unary::Sin, &[angle])?);
                let opposite = at.op(Unary::Negate, &[sin])?;
                let left = offset(at, centre[1], [(cos, centre[1]), (opposite, centre[0])])?;
                let top = offset(at, centre[0], [(sin, centre[1]), (cos, centre[0])])?;
                let map = [cos, opposite, left, sin, cos, top].map(Each);
                warped(at, x, map, view, [rows, columns])
            }
            Self::Zoom { height, width, view } => {
                let down = drawn(at, x, 2, height.map(|part| 1.0 + part))?;
                let across = match width {
                    Some(width) => drawn(at, x, 2, width.map(|part| 1.0 + part))?,
                    None => down,
                };
                let left = linear(at, across, -centre[1], centre[1])?;
                let top = linear(at, down, -centre[0], centre[0])?;
                let map = [Each(across), Same(0.0), Each(left), Same(0.0), Each(down), Each(top)];
                warped(at, x, map, view, [rows, columns])
            }
            Self::Translation { height, width, view } => {
                let down = drawn(at, x, 2, height)?;
                let down = linear(at, down, -(rows as f32), 0.0)?;
                let right = drawn(at, x, 2, width)?;
                let right = linear(at, right, -(columns as f32), 0.0)?;
                let map = [Same(1.0), Same(0.0), Each(right), Same(0.0), Same(1.0), Each(down)];
                warped(at, x, map, view, [rows, columns])
            }
            Self::Shear { x: along, y, view } => {
                let draw = drawn(at, x, 2, [0.0, 1.0])?;
                let half = at.scalar(0.5)?;
                let turned = at.op(Binary::Less, &[half, draw])?;
                let sign = linear(at, turned, -2.0, 1.0)?;
                let mut shear = |factor: Interval| -> Result<Entry, ShapeError> {
                    let drawn = drawn(at, x, 2, factor)?;
                    Ok(Each(at.op(Binary::Multiply, &[drawn, sign])?))
                };
                let (across, down) = (shear(along)?, shear(y)?);
                let map = [Same(1.0), across, Same(0.0), down, Same(1.0), Same(0.0)];
                warped(at, x, map, view, [rows, columns])
            }
            Self::Crop { height, width } if rows > height && columns > width => {
                let mut start = |room: usize| -> Result<ValueId, ShapeError> {
                    let draw = drawn_as(at, Shape::new([1, 1]), [0.0, (room + 1) as f32])?;
                    let whole = at.op(Cast { to: ElementType::I32 }, &[draw])?;
                    let whole = at.float(whole)?;
                    // The same for all images of a batch.
                    let zeros = at.op(Fill { shape: [batch, 1].into(), value: 0.0 }, &[])?;
                    at.op(Binary::Add, &[zeros, whole])
                };
                let (top, left) = (start(rows - height)?, start(columns - width)?);
                let map = [Same(1.0), Same(0.0), Each(left), Same(0.0), Same(1.0), Each(top)];
                warped(at, x, map, WHOLE, [height, width])
            }
            Self::Crop { height, width } => fitted(at, x, [height, width]),
            _ => Err(at.refusal(&[x], "it is no change of what is seen".to_string())),
        }
    }
}

/// What Keras does where there is no choice: a part from a place that depends on the proportions, then resized.
fn fitted(at: &mut Context<'_>, x: ValueId, size: [usize; 2]) -> Result<ValueId, ShapeError> {
    let [batch, rows, columns, channels] = at.extents(x)?;
    if size.contains(&0) {
        return Err(at.refusal(&[x], "the part has no pixels".to_string()));
    }
    let like = |along: usize, wanted: usize, other: usize| (along * wanted) / other;
    let crop =
        [like(columns, size[0], size[1]).clamp(1, rows), like(rows, size[1], size[0]).clamp(1, columns)];
    let start = [(rows - crop[0]) / 2, (columns - crop[1]) / 2];
    let part = [size[0].min(rows - start[0]), size[1].min(columns - start[1])];
    let slice =
        Slice { start: vec![0, start[0], start[1], 0], size: vec![batch, part[0], part[1], channels] };
    let cut = at.op(slice, &[x])?;
    if part == size {
        return Ok(cut);
    }
    at.op(Resize2d { interpolation: Interpolation::Bilinear, antialias: false, size }, &[cut])
}

/// The image seen through a map that keeps lines parallel.
fn warped(
    at: &mut Context<'_>,
    x: ValueId,
    map: [Entry; 6],
    view: View,
    size: [usize; 2],
) -> Result<ValueId, ShapeError> {
    let batch = at.shape(x)[0];
    let mut entries = Vec::with_capacity(8);
    for entry in map.into_iter().chain([Same(0.0), Same(0.0)]) {
        entries.push(match entry {
            Each(value) => value,
            Same(value) => at.op(Fill { shape: [batch, 1].into(), value }, &[])?,
        });
    }
    let map = at.op(Concat { axis: 1 }, &entries)?;
    at.op(Warp { interpolation: view.interpolation, outside: view.outside, size }, &[x, map])
}

/// `from - a x - b y`: what keeps a centre where it is.
fn offset(at: &mut Context<'_>, from: f32, parts: [(ValueId, f32); 2]) -> Result<ValueId, ShapeError> {
    let first = linear(at, parts[0].0, -parts[0].1, from)?;
    let second = linear(at, parts[1].0, -parts[1].1, 0.0)?;
    at.op(Binary::Add, &[first, second])
}
