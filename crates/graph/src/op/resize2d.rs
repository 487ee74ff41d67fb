//! An image at any other size, with the gradient.

use super::Interpolation;
use super::expect::{Inferred, extents, floats, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `x [n,h,w,c] -> y [n,size[0],size[1],c]`.
///
/// Pixel centres stand at `i + 0.5`, as in TensorFlow 2: new pixel `o` looks at `(o + 0.5) old / new - 0.5`. Weights
/// are those of TensorFlow's kernels: a cubic kernel without averaging is read off a table of 1,024 steps, and what
/// lies outside of the image has no weight unless the interpolation is bilinear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resize2d {
    /// How new pixels are made.
    pub interpolation: Interpolation,
    /// Whether an image that shrinks is averaged, so that nothing of it is passed over.
    #[serde(default)]
    pub antialias: bool,
    /// Rows and columns of the result.
    pub size: [usize; 2],
}

/// `dy [n,h',w',c] -> dx [n,size[0],size[1],c]` of [`Resize2d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resize2dGradient {
    /// How new pixels were made.
    pub interpolation: Interpolation,
    /// As in [`Resize2d`].
    #[serde(default)]
    pub antialias: bool,
    /// Rows and columns of the image.
    pub size: [usize; 2],
}

impl Resize2d {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        let [n, _, _, c] = extents("the image", x)?;
        Ok(vec![x.reshaped([n, self.size[0], self.size[1], c])])
    }

    /// Pixels are made from those of the same image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}

impl Resize2dGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [dy] = operands(inputs)?;
        floats(&[dy])?;
        let [n, _, _, c] = extents("the gradient", dy)?;
        Ok(vec![dy.reshaped([n, self.size[0], self.size[1], c])])
    }

    /// Pixels are made from those of the same image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}
