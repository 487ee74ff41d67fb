//! Images at another size.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Interpolation, Pad, Resize2d, Slice, Unary};
use plimsoll_graph::{ElementType, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// The image at a given size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resizing {
    /// Rows of the result.
    pub height: usize,
    /// Columns of the result.
    pub width: usize,
    /// How new pixels are made.
    pub interpolation: Interpolation,
    /// Whether an image that shrinks is averaged.
    pub antialias: bool,
    /// What keeps its proportions.
    pub aspect: Aspect,
}

/// What keeps the proportions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Nothing does.
    Stretch,
    /// What stands out is cut off before.
    Crop,
    /// What is missing is filled with a number before.
    Pad(f32),
}

/// The middle of the image, or where that is larger than the image, a part of its proportions made larger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CenterCrop {
    /// Rows of the result.
    pub height: usize,
    /// Columns of the result.
    pub width: usize,
}

impl Resizing {
    /// Without regard to proportions.
    pub fn new(height: usize, width: usize, interpolation: Interpolation) -> Self {
        Self { height, width, interpolation, antialias: false, aspect: Aspect::Stretch }
    }

    pub(super) fn kind(&self) -> &'static str {
        "resizing"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let whole = at.element(x.value) == ElementType::I32;
        let between = !matches!(self.interpolation, Interpolation::Nearest | Interpolation::Bilinear);
        if whole && between {
            let problem = format!("{:?} of integers leaves what they can hold", self.interpolation);
            return Err(at.refusal(&[x.value], problem));
        }
        let x = at.float(x.value)?;
        let size = [self.height, self.width];
        let fitted = match self.aspect {
            Aspect::Stretch => x,
            Aspect::Crop => cropped(at, x, size)?,
            Aspect::Pad(value) => padded(at, x, size, value)?,
        };
        let resize = Resize2d { interpolation: self.interpolation, antialias: self.antialias, size };
        let resized = at.op(resize, &[fitted])?;
        // Pixels that are integers stay integers.
        Ok(Signal::bare(if whole { at.op(Unary::Round, &[resized])? } else { resized }))
    }
}

impl CenterCrop {
    pub(super) fn kind(&self) -> &'static str {
        "center_crop"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = at.float(x.value)?;
        Ok(Signal::bare(center(at, x, [self.height, self.width])?))
    }
}

/// The middle of an image, as [`CenterCrop`] gives it.
pub(super) fn center(at: &mut Context<'_>, x: ValueId, size: [usize; 2]) -> Result<ValueId, ShapeError> {
    let [_, rows, columns, _] = at.extents(x)?;
    if rows >= size[0] && columns >= size[1] {
        let start = [(rows - size[0]) / 2, (columns - size[1]) / 2];
        return part(at, x, start, size);
    }
    let fitted = cropped(at, x, size)?;
    at.op(Resize2d { interpolation: Interpolation::Bilinear, antialias: false, size }, &[fitted])
}

/// The middle of an image that has the proportions of a size, in Keras's rounding.
fn cropped(at: &mut Context<'_>, x: ValueId, size: [usize; 2]) -> Result<ValueId, ShapeError> {
    let [_, rows, columns, _] = at.extents(x)?;
    let like = proportional(at, x, [rows, columns], size)?;
    let crop = [like[0].clamp(1, rows), like[1].clamp(1, columns)];
    part(at, x, [(rows - crop[0]) / 2, (columns - crop[1]) / 2], crop)
}

/// An image with as much around it as gives it the proportions of a size, in Keras's rounding.
fn padded(at: &mut Context<'_>, x: ValueId, size: [usize; 2], value: f32) -> Result<ValueId, ShapeError> {
    let [_, rows, columns, _] = at.extents(x)?;
    let like = proportional(at, x, [rows, columns], size)?;
    let margins = [like[0].saturating_sub(rows) / 2, like[1].saturating_sub(columns) / 2];
    if margins == [0, 0] {
        return Ok(x);
    }
    // Keras fills rows first and columns then only beside the image itself, so both cannot be.
    let sides = vec![0, margins[0], margins[1], 0];
    at.op(Pad { before: sides.clone(), after: sides, value }, &[x])
}

/// The rows that go with the columns, and the columns that go with the rows, for the proportions of a size.
fn proportional(
    at: &Context<'_>,
    x: ValueId,
    [rows, columns]: [usize; 2],
    [height, width]: [usize; 2],
) -> Result<[usize; 2], ShapeError> {
    if height == 0 || width == 0 {
        return Err(at.refusal(&[x], "the new size has no pixels".to_string()));
    }
    let like = |along: usize, wanted: usize, other: usize| ((along * wanted) as f32 / other as f32) as usize;
    Ok([like(columns, height, width), like(rows, width, height)])
}

fn part(
    at: &mut Context<'_>,
    x: ValueId,
    start: [usize; 2],
    size: [usize; 2],
) -> Result<ValueId, ShapeError> {
    let [batch, rows, columns, channels] = at.extents(x)?;
    if [rows, columns] == size {
        return Ok(x);
    }
    let (start, size) = (vec![0, start[0], start[1], 0], vec![batch, size[0], size[1], channels]);
    at.op(Slice { start, size }, &[x])
}
