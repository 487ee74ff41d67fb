//! Convolution of sequences in two steps: every channel by itself, then the channels of each position.

use super::conv1d::{as_row, as_sequence};
use super::{Activation, Context, Lowered, Signal, TimePadding};
use crate::Initializer;
use plimsoll_graph::Shape;
use plimsoll_graph::op::{DepthwiseConv2d, MatMul};
use serde::{Deserialize, Serialize};

/// A depthwise convolution, a convolution by windows of one position, a bias and an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeparableConv1d {
    /// The number of channels of the result.
    pub filters: usize,
    /// Positions of the window.
    pub kernel_size: usize,
    /// Steps between neighbouring windows.
    pub strides: usize,
    /// What surrounds the sequence.
    pub padding: TimePadding,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: usize,
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

impl SeparableConv1d {
    /// A linear layer with a bias, steps of 1 and no padding.
    pub fn new(filters: usize, window: usize) -> Self {
        Self {
            filters,
            kernel_size: window,
            strides: 1,
            padding: TimePadding::Valid,
            dilation_rate: 1,
            depth_multiplier: 1,
            activation: Activation::Linear,
            use_bias: true,
            depthwise_initializer: Initializer::default(),
            pointwise_initializer: Initializer::default(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        "separable_conv1d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, channels] = at.extents(x.value)?;
        let between = at.product(&[channels, self.depth_multiplier])?;
        let shape = Shape::new([self.kernel_size, channels, self.depth_multiplier]);
        let init = self.depthwise_initializer.for_kernel(&shape);
        let depthwise = at.parameter("depthwise_kernel", shape, init)?;
        let depthwise = at.reshaped(depthwise, [1, self.kernel_size, channels, self.depth_multiplier])?;
        let shape = Shape::new([1, between, self.filters]);
        let init = self.pointwise_initializer.for_kernel(&shape);
        let pointwise = at.parameter("pointwise_kernel", shape, init)?;
        let pointwise = at.reshaped(pointwise, [between, self.filters])?;
        let sliding = self.padding.sliding(at, self.kernel_size, self.strides, self.dilation_rate)?;
        let row = as_row(at, x.value)?;
        let y = at.op(DepthwiseConv2d { sliding }, &[row, depthwise])?;
        let y = as_sequence(at, y)?;
        let mut y = at.op(MatMul::default(), &[y, pointwise])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}
