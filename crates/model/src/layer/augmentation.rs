//! Images changed by chance in training: turned, moved, cut, coloured.
//!
//! Numbers are drawn for each sample by its place in the batch, the step and the layer, as dropout's are. What is drawn
//! from an interval of one number is that number.

mod colors;
mod views;

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Fill, Interpolation, Outside, RandomUniform, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// What is drawn from: a lowest and a highest number.
pub type Interval = [f32; 2];

/// A change of images by chance. In inference images stay as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Augmentation {
    /// Mirrored, every second one: left and right, above and below, or both at once.
    Flip {
        /// Whether left and right change places.
        horizontal: bool,
        /// Whether above and below change places.
        vertical: bool,
    },
    /// Turned about the centre by a part of a full turn.
    Rotation {
        /// The part.
        factor: Interval,
        /// How it is seen.
        view: View,
    },
    /// Seen from nearer or farther: 1 more than these is the part of the image that is seen.
    Zoom {
        /// Along the rows.
        height: Interval,
        /// Along the columns; the same number as along the rows if it is not given.
        width: Option<Interval>,
        /// How it is seen.
        view: View,
    },
    /// Moved by a part of its size.
    Translation {
        /// Downwards.
        height: Interval,
        /// To the right.
        width: Interval,
        /// How it is seen.
        view: View,
    },
    /// Sheared; every second one in the opposite direction.
    Shear {
        /// Along the columns.
        x: Interval,
        /// Along the rows.
        y: Interval,
        /// How it is seen.
        view: View,
    },
    /// A part of this size, the same for all images of a batch.
    Crop {
        /// Rows of the part.
        height: usize,
        /// Columns of the part.
        width: usize,
    },
    /// Farther from the mean of the image, or nearer to it.
    Contrast {
        /// What differences are multiplied by.
        factor: Interval,
        /// The range of pixels.
        range: Interval,
    },
    /// Lighter or darker.
    Brightness {
        /// The part of the range that is added.
        factor: Interval,
        /// The range of pixels.
        range: Interval,
    },
    /// Without colours, so many of the images.
    Grayscale {
        /// The share of the images.
        factor: f32,
    },
    /// Nearer to the image without colours.
    ColorDegeneration {
        /// How near.
        factor: Interval,
        /// The range of pixels.
        range: Interval,
    },
    /// The highest pixel minus each, so many of the images.
    Invert {
        /// The share of the images.
        factor: Interval,
        /// The range of pixels.
        range: Interval,
    },
    /// Sharper or smoother.
    Sharpness {
        /// Half of what is left of the image beside its smoothed twin.
        factor: Interval,
        /// The range of pixels.
        range: Interval,
    },
    /// Lighter, and pixels above a threshold inverted.
    Solarization {
        /// What is added to pixels of 0 to 255.
        addition: Interval,
        /// The threshold.
        threshold: Interval,
        /// The range of pixels.
        range: Interval,
    },
    /// A rectangle filled, in so many of the images.
    Erasing {
        /// The share of the images.
        factor: Interval,
        /// The square of each side of the rectangle, as a part of the image's.
        scale: Interval,
        /// What fills it, by channel or for all; noise if nothing is given.
        fill: Option<Vec<f32>>,
        /// The range of pixels.
        range: Interval,
    },
    /// Something that is not done here: images stay as they are in inference, and training is refused.
    Unknown {
        /// Keras's name for it.
        class: String,
    },
}

/// How an image is seen through a map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// How new pixels are made.
    pub interpolation: Interpolation,
    /// What lies outside of the image.
    pub outside: Outside,
}

impl Augmentation {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Flip { .. } => "random_flip",
            Self::Rotation { .. } => "random_rotation",
            Self::Zoom { .. } => "random_zoom",
            Self::Translation { .. } => "random_translation",
            Self::Shear { .. } => "random_shear",
            Self::Crop { .. } => "random_crop",
            Self::Contrast { .. } => "random_contrast",
            Self::Brightness { .. } => "random_brightness",
            Self::Grayscale { .. } => "random_grayscale",
            Self::ColorDegeneration { .. } => "random_color_degeneration",
            Self::Invert { .. } => "random_invert",
            Self::Sharpness { .. } => "random_sharpness",
            Self::Solarization { .. } => "solarization",
            Self::Erasing { .. } => "random_erasing",
            Self::Unknown { .. } => "augmentation",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = at.float(x.value)?;
        at.extents::<4>(x)?;
        if !at.is_training() {
            return Ok(Signal::bare(x));
        }
        let changed = match self {
            Self::Flip { .. } | Self::Rotation { .. } | Self::Zoom { .. } => self.view(at, x),
            Self::Translation { .. } | Self::Shear { .. } | Self::Crop { .. } => self.view(at, x),
            Self::Unknown { class } => {
                let problem = format!("{class} is not done in training here; leave it out of the model");
                Err(at.refusal(&[x], problem))
            }
            _ => self.color(at, x),
        };
        Ok(Signal::bare(changed?))
    }
}

/// A number of the interval for each sample, as `[batch, 1, ...]` of the given rank.
fn drawn(
    at: &mut Context<'_>,
    x: ValueId,
    rank: usize,
    [low, high]: Interval,
) -> Result<ValueId, ShapeError> {
    let mut extents = vec![1; rank];
    extents[0] = at.shape(x)[0];
    drawn_as(at, Shape::new(extents), [low, high])
}

/// Numbers of the interval in any shape.
fn drawn_as(at: &mut Context<'_>, shape: Shape, [low, high]: Interval) -> Result<ValueId, ShapeError> {
    if low == high {
        return at.op(Fill { shape, value: low }, &[]);
    }
    let seed = at.seed();
    let step = at.step()?;
    let units = at.op(RandomUniform { shape, seed }, &[step])?;
    linear(at, units, high - low, low)
}

/// 1 for the share of the samples that an interval of shares says, else 0, as `[batch, 1, 1, 1]`.
fn some(at: &mut Context<'_>, x: ValueId, share: Interval) -> Result<ValueId, ShapeError> {
    let wanted = drawn(at, x, 4, share)?;
    let threshold = drawn(at, x, 4, [0.0, 1.0])?;
    at.op(Binary::Less, &[threshold, wanted])
}

/// `x factor + addend`
fn linear(at: &mut Context<'_>, x: ValueId, factor: f32, addend: f32) -> Result<ValueId, ShapeError> {
    let scaled = if factor == 1.0 { x } else { at.op(Unary::MultiplyScalar(factor), &[x])? };
    if addend == 0.0 { Ok(scaled) } else { at.op(Unary::AddScalar(addend), &[scaled]) }
}

/// One value where the mask is 1, the other where it is 0.
fn chosen(at: &mut Context<'_>, mask: ValueId, [one, zero]: [ValueId; 2]) -> Result<ValueId, ShapeError> {
    let opposite = linear(at, mask, -1.0, 1.0)?;
    let kept = at.op(Binary::Multiply, &[one, mask])?;
    let rest = at.op(Binary::Multiply, &[zero, opposite])?;
    at.op(Binary::Add, &[kept, rest])
}

/// No lower and no higher than a range.
fn clipped(at: &mut Context<'_>, x: ValueId, [low, high]: Interval) -> Result<ValueId, ShapeError> {
    let above = at.op(Unary::MaximumScalar(low), &[x])?;
    let high = at.scalar(high)?;
    at.op(Binary::Minimum, &[above, high])
}
