//! Convolution over time of every channel by filters of its own.

use super::conv1d::{as_row, as_sequence};
use super::{Activation, Context, Lowered, Signal, TimePadding};
use crate::Initializer;
use plimsoll_graph::{Shape, op};
use serde::{Deserialize, Serialize};

/// A depthwise convolution over time with a bias and an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthwiseConv1d {
    /// Positions of the window.
    pub kernel_size: usize,
    /// Steps between neighbouring windows.
    pub strides: usize,
    /// What surrounds the sequence.
    pub padding: TimePadding,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: usize,
    /// How many channels each channel becomes.
    pub depth_multiplier: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub depthwise_initializer: Initializer,
}

impl DepthwiseConv1d {
    /// A linear convolution with a bias, steps of 1 and no padding.
    pub fn new(window: usize) -> Self {
        Self {
            kernel_size: window,
            strides: 1,
            padding: TimePadding::Valid,
            dilation_rate: 1,
            depth_multiplier: 1,
            activation: Activation::Linear,
            use_bias: true,
            depthwise_initializer: Initializer::default(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        "depthwise_conv1d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, channels] = at.extents(x.value)?;
        let shape = Shape::new([self.kernel_size, channels, self.depth_multiplier]);
        let init = self.depthwise_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let kernel = at.reshaped(kernel, [1, self.kernel_size, channels, self.depth_multiplier])?;
        let sliding = self.padding.sliding(at, self.kernel_size, self.strides, self.dilation_rate)?;
        let row = as_row(at, x.value)?;
        let y = at.op(op::DepthwiseConv2d { sliding }, &[row, kernel])?;
        let mut y = as_sequence(at, y)?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}
