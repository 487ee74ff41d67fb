//! Images seen through a projective map: turned, moved, enlarged, sheared.

use super::Interpolation;
use super::expect::{Inferred, ensure, extents, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x [n,h,w,c], map [n,8]) -> y [n,size[0],size[1],c]`.
///
/// New pixel `(row, column)` looks at column `(m0 column + m1 row + m2) / k` and row `(m3 column + m4 row + m5) / k`
/// with `k = m6 column + m7 row + 1`, as TensorFlow's `ImageProjectiveTransformV3` does. There is no gradient:
/// TensorFlow's is not the derivative, and images are warped before anything is learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warp {
    /// Nearest or bilinear.
    pub interpolation: Interpolation,
    /// What lies outside of the image.
    pub outside: Outside,
    /// Rows and columns of the result.
    pub size: [usize; 2],
}

/// What lies outside of an image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// One number for all.
    Constant(f32),
    /// The pixel at the edge.
    Nearest,
    /// The image in a mirror, with its edge twice.
    Reflect,
    /// The image again.
    Wrap,
}

impl Warp {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, map] = operands(inputs)?;
        floats(&[x, map])?;
        let [n, _, _, c] = extents("the image", x)?;
        shape("the map", map, [n, 8])?;
        let known = matches!(self.interpolation, Interpolation::Nearest | Interpolation::Bilinear);
        ensure(known, || format!("{:?} is not for this", self.interpolation))?;
        Ok(vec![x.reshaped([n, self.size[0], self.size[1], c])])
    }

    /// Pixels are made from those of the same image, by its own map.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(2)
    }
}
