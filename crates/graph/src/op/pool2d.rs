//! Max and average pooling of images, with their gradients.

use super::expect::{Inferred, extents, floats, operands, shape};
use super::sliding::{Geometry, Sliding};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// What is kept of a window. Padding never takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// The largest element.
    Max,
    /// The mean of the elements inside the image.
    Average,
}

/// `x [n,h,w,c] -> y [n,h',w',c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool2d {
    /// What is kept.
    pub pool: Pool,
    /// Rows and columns of the window.
    pub window: [usize; 2],
    /// How it moves.
    pub sliding: Sliding,
}

/// `(x, y, dy) -> dx`: each window's gradient goes to its first largest element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaxPool2dGradient {
    /// Rows and columns of the window.
    pub window: [usize; 2],
    /// How it moves.
    pub sliding: Sliding,
}

/// `dy [n,h',w',c] -> dx [n,h,w,c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AveragePool2dGradient {
    /// Rows and columns of the window.
    pub window: [usize; 2],
    /// How it moves.
    pub sliding: Sliding,
    /// Rows and columns of the image.
    pub size: [usize; 2],
}

impl Pool2d {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        let [n, h, w, c] = extents("the image", x)?;
        let [oh, ow] = self.sliding.over([h, w], self.window)?.output;
        Ok(vec![x.reshaped([n, oh, ow, c])])
    }

    /// Windows lie within an image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }

    /// The geometry for a type that the shape rule has accepted.
    pub fn geometry(&self, x: &TensorType) -> Geometry {
        let size = [x.shape[1], x.shape[2]];
        self.sliding.over(size, self.window).expect("the shape rule has accepted these types")
    }
}

impl MaxPool2dGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, y, dy] = operands(inputs)?;
        floats(&[x, y, dy])?;
        let [n, h, w, c] = extents("the image", x)?;
        let [oh, ow] = self.sliding.over([h, w], self.window)?.output;
        shape("the result", y, [n, oh, ow, c])?;
        shape("the gradient", dy, [n, oh, ow, c])?;
        Ok(vec![x.clone()])
    }

    /// Windows lie within an image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(3)
    }
}

impl AveragePool2dGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [dy] = operands(inputs)?;
        floats(&[dy])?;
        let [n, _, _, c] = extents("the gradient", dy)?;
        let [oh, ow] = self.sliding.over(self.size, self.window)?.output;
        shape("the gradient", dy, [n, oh, ow, c])?;
        Ok(vec![dy.reshaped([n, self.size[0], self.size[1], c])])
    }

    /// Windows lie within an image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}
