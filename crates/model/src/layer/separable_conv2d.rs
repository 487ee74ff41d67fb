//! Convolution of images in two steps: every channel by itself, then the channels of each pixel.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Conv2d, DepthwiseConv2d, Padding, Sliding};
use serde::{Deserialize, Serialize};

/// A depthwise convolution, a convolution by windows of one pixel, a bias and an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeparableConv2d {
    /// The number of channels of the result.
    pub filters: usize,
    /// Rows and columns of the window.
    pub kernel_size: [usize; 2],
    /// Steps between neighbouring windows.
    pub strides: [usize; 2],
    /// What surrounds the image.
    pub padding: Padding,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: [usize; 2],
    /// How many channels each channel becomes in between.
    pub depth_multiplier: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel of the first step starts.
    pub depthwise_initializer: Initializer,
    /// How the kernel of the second step starts.
    pub pointwise_initializer: Initializer,
}

impl SeparableConv2d {
    /// A linear layer with a bias, steps of 1 and no padding.
    pub fn new(filters: usize, window: usize) -> Self {
        Self {
            filters,
            kernel_size: [window; 2],
            strides: [1, 1],
            padding: Padding::Valid,
            dilation_rate: [1, 1],
            depth_multiplier: 1,
            activation: Activation::Linear,
            use_bias: true,
            depthwise_initializer: Initializer::default(),
            pointwise_initializer: Initializer::default(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        "separable_conv2d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, _, channels] = at.extents(x.value)?;
        let between = at.product(&[channels, self.depth_multiplier])?;
        let [rows, columns] = self.kernel_size;
        let shape = Shape::new([rows, columns, channels, self.depth_multiplier]);
        let init = self.depthwise_initializer.for_kernel(&shape);
        let depthwise = at.parameter("depthwise_kernel", shape, init)?;
        let shape = Shape::new([1, 1, between, self.filters]);
        let init = self.pointwise_initializer.for_kernel(&shape);
        let pointwise = at.parameter("pointwise_kernel", shape, init)?;
        let sliding = Sliding { strides: self.strides, dilation: self.dilation_rate, padding: self.padding };
        let y = at.op(DepthwiseConv2d { sliding }, &[x.value, depthwise])?;
        let mut y = at.op(Conv2d { sliding: Sliding::default(), groups: 1 }, &[y, pointwise])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}
