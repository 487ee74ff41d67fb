//! Dropout.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{self, Binary, Fill};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// In training, zeros in the place of so many elements, chosen anew at every step; the others grow to make up for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropout {
    /// The probability of dropping an element.
    pub rate: f32,
    /// The shape of the random mask, which is stretched over the input; `None` along axes that have the input's extent.
    /// SpatialDropout1D and SpatialDropout2D are dropouts with such a shape, and so is the StochasticDepth of ConvNeXt.
    pub noise_shape: Option<Vec<Option<usize>>>,
}

impl Dropout {
    /// Every element on its own.
    pub fn new(rate: f32) -> Self {
        Self { rate, noise_shape: None }
    }

    /// Whole images of a batch: stochastic depth (Huang et al. 2016).
    pub fn of_images(rate: f32) -> Self {
        Self { rate, noise_shape: Some(vec![None, Some(1), Some(1), Some(1)]) }
    }

    /// Whole channels of sequences: Keras's SpatialDropout1D.
    pub fn spatial1d(rate: f32) -> Self {
        Self { rate, noise_shape: Some(vec![None, Some(1), None]) }
    }

    /// Whole channels of images: Keras's SpatialDropout2D.
    pub fn spatial2d(rate: f32) -> Self {
        Self { rate, noise_shape: Some(vec![None, Some(1), Some(1), None]) }
    }

    /// Whole channels of volumes: Keras's SpatialDropout3D.
    pub fn spatial3d(rate: f32) -> Self {
        Self { rate, noise_shape: Some(vec![None, Some(1), Some(1), Some(1), None]) }
    }

    pub(super) fn kind(&self) -> &'static str {
        "dropout"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        at.check_rate(self.rate, x.value)?;
        if !at.is_training() || self.rate == 0.0 {
            return Ok(x);
        }
        let Some(noise_shape) = &self.noise_shape else {
            return Ok(x.with(drop_elements(at, self.rate, x.value)?));
        };
        let shape = self::noise_shape(at, Some(noise_shape), x.value)?;
        let ones = at.op(Fill { shape, value: 1.0 }, &[])?;
        let mask = drop_elements(at, self.rate, ones)?;
        Ok(x.with(at.op(Binary::Multiply, &[x.value, mask])?))
    }
}

/// The shape of a random mask for a value.
pub(super) fn noise_shape(
    at: &Context<'_>,
    noise_shape: Option<&[Option<usize>]>,
    x: ValueId,
) -> Result<Shape, ShapeError> {
    let shape = at.shape(x);
    let Some(noise) = noise_shape else { return Ok(shape.clone()) };
    if shape.rank() != noise.len() {
        return Err(at.refusal(&[x], format!("the noise {noise:?} is of another rank")));
    }
    let extents = noise.iter().zip(shape.extents()).map(|(noise, &extent)| noise.unwrap_or(extent));
    Ok(Shape::new(extents.collect::<Vec<_>>()))
}

/// Adds the op that drops elements of any value.
pub(super) fn drop_elements(at: &mut Context<'_>, rate: f32, x: ValueId) -> Result<ValueId, ShapeError> {
    let step = at.step()?;
    let dropout = op::Dropout { rate, seed: at.seed() };
    at.op(dropout, &[x, step])
}
