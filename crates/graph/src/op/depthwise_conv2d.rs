//! Depthwise convolution: every channel has filters of its own; with both gradients.

use super::expect::{Inferred, ensure, extents, floats, operands, shape};
use super::sliding::{Geometry, Sliding};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x [n,h,w,c], filter [kh,kw,c,m]) -> y [n,h',w',c*m]`; channel `c*m + j` is channel `c` under its filter `j`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthwiseConv2d {
    /// How the filters move.
    pub sliding: Sliding,
}

/// `(dy [n,h',w',c*m], filter [kh,kw,c,m]) -> dx [n,h,w,c]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthwiseConv2dInputGradient {
    /// How the filters move.
    pub sliding: Sliding,
    /// Rows and columns of the image.
    pub size: [usize; 2],
}

/// `(x [n,h,w,c], dy [n,h',w',c*m]) -> dfilter [kh,kw,c,m]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthwiseConv2dFilterGradient {
    /// How the filters move.
    pub sliding: Sliding,
    /// Rows and columns of the filters.
    pub window: [usize; 2],
}

impl DepthwiseConv2d {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, filter] = operands(inputs)?;
        floats(&[x, filter])?;
        let [n, h, w, c] = extents("the image", x)?;
        let [kh, kw, filter_c, m] = extents("the filter", filter)?;
        ensure(c == filter_c, || format!("the filter takes {filter_c} channels, the image has {c}"))?;
        let [oh, ow] = self.sliding.over([h, w], [kh, kw])?.output;
        Ok(vec![x.reshaped([n, oh, ow, c * m])])
    }

    /// An image is a sample; the filter is for all.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }

    /// The geometry for types that the shape rule has accepted.
    pub fn geometry(&self, size: [usize; 2], window: [usize; 2]) -> Geometry {
        self.sliding.over(size, window).expect("the shape rule has accepted these types")
    }
}

impl DepthwiseConv2dInputGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [dy, filter] = operands(inputs)?;
        floats(&[dy, filter])?;
        let [n, ..] = extents::<4>("the gradient", dy)?;
        let [kh, kw, c, m] = extents("the filter", filter)?;
        let [oh, ow] = self.sliding.over(self.size, [kh, kw])?.output;
        shape("the gradient", dy, [n, oh, ow, c * m])?;
        Ok(vec![dy.reshaped([n, self.size[0], self.size[1], c])])
    }

    /// A gradient belongs to an image.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}

impl DepthwiseConv2dFilterGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, dy] = operands(inputs)?;
        floats(&[x, dy])?;
        let [n, h, w, c] = extents("the image", x)?;
        let [.., f] = extents::<4>("the gradient", dy)?;
        ensure(f % c == 0, || format!("{f} output channels are no multiple of {c} input channels"))?;
        let [oh, ow] = self.sliding.over([h, w], self.window)?.output;
        shape("the gradient", dy, [n, oh, ow, f])?;
        Ok(vec![x.reshaped([self.window[0], self.window[1], c, f / c])])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
