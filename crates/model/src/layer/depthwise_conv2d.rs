//! Convolution of every channel by filters of its own.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::Shape;
use plimsoll_graph::op::{self, Padding, Sliding};
use serde::{Deserialize, Serialize};

/// A depthwise convolution with a bias and an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthwiseConv2d {
    /// Rows and columns of the window.
    pub kernel_size: [usize; 2],
    /// Steps between neighbouring windows.
    pub strides: [usize; 2],
    /// What surrounds the image.
    pub padding: Padding,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: [usize; 2],
    /// How many channels each channel becomes.
    pub depth_multiplier: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub depthwise_initializer: Initializer,
}

impl DepthwiseConv2d {
    /// A linear convolution with a bias, a square window, steps of 1 and no padding.
    pub fn new(window: usize) -> Self {
        Self {
            kernel_size: [window; 2],
            strides: [1, 1],
            padding: Padding::Valid,
            dilation_rate: [1, 1],
            depth_multiplier: 1,
            activation: Activation::Linear,
            use_bias: true,
            depthwise_initializer: Initializer::default(),
        }
    }

    /// The same with these steps in both directions.
    pub fn strides(self, stride: usize) -> Self {
        Self { strides: [stride; 2], ..self }
    }

    /// The same with this padding.
    pub fn padding(self, padding: Padding) -> Self {
        Self { padding, ..self }
    }

    /// The same without a bias.
    pub fn without_bias(self) -> Self {
        Self { use_bias: false, ..self }
    }

    /// The same with another start of the kernel.
    pub fn depthwise_initializer(self, depthwise_initializer: Initializer) -> Self {
        Self { depthwise_initializer, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "depthwise_conv2d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, _, channels] = at.extents(x.value)?;
        let shape = Shape::new([self.kernel_size[0], self.kernel_size[1], channels, self.depth_multiplier]);
        let init = self.depthwise_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let sliding = Sliding { strides: self.strides, dilation: self.dilation_rate, padding: self.padding };
        let mut y = at.op(op::DepthwiseConv2d { sliding }, &[x.value, kernel])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}
