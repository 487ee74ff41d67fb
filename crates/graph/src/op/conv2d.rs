//! Convolution of images, and its gradient with respect to the filter. (The gradient with respect to the
//! image is a transposed convolution.)

use super::expect::{Inferred, ensure, extents, floats, operands, shape};
use super::sliding::{Geometry, Sliding};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x [n,h,w,c], filter [kh,kw,c/groups,f]) -> y [n,h',w',f]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conv2d {
    /// How the filter moves.
    pub sliding: Sliding,
    /// Into how many independent parts the channels are cut.
    pub groups: usize,
}

/// `(x [n,h,w,c], dy [n,h',w',f]) -> dfilter [kh,kw,c/groups,f]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conv2dFilterGradient {
    /// The convolution this belongs to.
    pub conv: Conv2d,
    /// Rows and columns of the filter.
    pub window: [usize; 2],
}

impl Default for Conv2d {
    fn default() -> Self {
        Self { sliding: Sliding::default(), groups: 1 }
    }
}

impl Conv2d {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, filter] = operands(inputs)?;
        floats(&[x, filter])?;
        let [n, h, w, c] = extents("the image", x)?;
        let [kh, kw, per_group, f] = extents("the filter", filter)?;
        self.check_channels(c, f)?;
        let wanted = c / self.groups;
        ensure(per_group == wanted, || {
            format!("the filter takes {per_group} channels a group, the image has {wanted}")
        })?;
        let [oh, ow] = self.sliding.over([h, w], [kh, kw])?.output;
        Ok(vec![x.reshaped([n, oh, ow, f])])
    }

    /// An image is a sample; the filter is for all.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }

    pub(super) fn check_channels(&self, c: usize, f: usize) -> Result<(), String> {
        let divides = self.groups > 0 && c.is_multiple_of(self.groups) && f.is_multiple_of(self.groups);
        ensure(divides, || format!("{} groups do not divide {c} and {f} channels", self.groups))
    }

    /// The geometry for types that the shape rule has accepted.
    pub fn geometry(&self, x: &TensorType, window: [usize; 2]) -> Geometry {
        let size = [x.shape[1], x.shape[2]];
        self.sliding.over(size, window).expect("the shape rule has accepted these types")
    }
}

impl Conv2dFilterGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, dy] = operands(inputs)?;
        floats(&[x, dy])?;
        let [n, h, w, c] = extents("the image", x)?;
        let [_, _, _, f] = extents("the gradient", dy)?;
        self.conv.check_channels(c, f)?;
        let [oh, ow] = self.conv.sliding.over([h, w], self.window)?.output;
        shape("the gradient", dy, [n, oh, ow, f])?;
        Ok(vec![x.reshaped([self.window[0], self.window[1], c / self.conv.groups, f])])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
