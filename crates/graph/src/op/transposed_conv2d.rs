//! Transposed convolution: what maps the gradient of a convolution's output to the gradient of its image,
//! and, used on its own, what upsamples.

use super::Conv2d;
use super::expect::{Inferred, ensure, extents, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `(x [n,h',w',f], filter [kh,kw,c/groups,f]) -> y [n,h,w,c]`, the transpose of the linear map that `conv` is.
///
/// The filter is stored as the convolution stores it, which is also how Keras stores it (`kh,kw,out,in`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransposedConv2d {
    /// The convolution this is the transpose of.
    pub conv: Conv2d,
    /// Rows and columns of the result; strides leave several possible.
    pub size: [usize; 2],
}

impl TransposedConv2d {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x, filter] = operands(inputs)?;
        floats(&[x, filter])?;
        let [n, _, _, f] = extents("the image", x)?;
        let [kh, kw, per_group, filter_f] = extents("the filter", filter)?;
        ensure(f == filter_f, || format!("the filter takes {filter_f} channels, the image has {f}"))?;
        let c = per_group.checked_mul(self.conv.groups).ok_or("the number of groups is absurdly large")?;
        self.conv.check_channels(c, f)?;
        let [h, w] = self.size;
        let [oh, ow] = self.conv.sliding.over([h, w], [kh, kw])?.output;
        shape("the image", x, [n, oh, ow, f])?;
        Ok(vec![x.reshaped([n, h, w, c])])
    }

    /// An image is a sample; the filter is for all.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        at.outermost(1)
    }
}
