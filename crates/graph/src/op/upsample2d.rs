//! Enlarging an image by whole factors, with the gradient.

use super::expect::{Inferred, ensure, extents, floats, operands};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// How new pixels are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// Each pixel is repeated.
    Nearest,
    /// Between the four nearest pixels, with pixel centres at `i + 0.5` and edges repeated, as in TensorFlow 2.
    Bilinear,
    /// Between the sixteen nearest, by the cubic kernel of Keys (1981). Only for resizing, as all that follow.
    Bicubic,
    /// Between the 36 nearest, by the kernel of Lanczos.
    Lanczos3,
    /// Between the 100 nearest, by the kernel of Lanczos.
    Lanczos5,
}

/// `x [n,h,w,c] -> y [n,h*factor[0],w*factor[1],c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upsample2d {
    /// How new pixels are made.
    pub interpolation: Interpolation,
    /// How many rows and columns each row and column becomes.
    pub factor: [usize; 2],
}

/// `dy [n,h*factor[0],w*factor[1],c] -> dx [n,h,w,c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upsample2dGradient(pub Upsample2d);

impl Upsample2d {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        let [n, h, w, c] = extents("the image", x)?;
        let simple = matches!(self.interpolation, Interpolation::Nearest | Interpolation::Bilinear);
        ensure(simple, || format!("{:?} is only for resizing", self.interpolation))?;
        let rows = h.checked_mul(self.factor[0]).ok_or("the factor is absurdly large")?;
        let columns = w.checked_mul(self.factor[1]).ok_or("the factor is absurdly large")?;
        Ok(vec![x.reshaped([n, rows, columns, c])])
    }

    /// Pixels are made from those of the same image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}

impl Upsample2dGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [dy] = operands(inputs)?;
        floats(&[dy])?;
        let [n, rows, columns, c] = extents("the gradient", dy)?;
        let [fh, fw] = self.0.factor;
        let divides = fh > 0 && fw > 0 && rows % fh == 0 && columns % fw == 0;
        ensure(divides, || format!("{rows}x{columns} is no multiple of {fh}x{fw}"))?;
        Ok(vec![dy.reshaped([n, rows / fh, columns / fw, c])])
    }

    /// Pixels are made from those of the same image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}
