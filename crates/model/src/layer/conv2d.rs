//! Convolution of images.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::Shape;
use plimsoll_graph::op::{self, Padding, Sliding};
use serde::{Deserialize, Serialize};

/// A convolution with a bias and an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv2d {
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
    /// Into how many independent parts the channels are cut.
    pub groups: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

impl Conv2d {
    /// A linear convolution with a bias, a square window, steps of 1 and no padding.
    pub fn new(filters: usize, window: usize) -> Self {
        Self {
            filters,
            kernel_size: [window; 2],
            strides: [1, 1],
            padding: Padding::Valid,
            dilation_rate: [1, 1],
            groups: 1,
            activation: Activation::Linear,
            use_bias: true,
            kernel_initializer: Initializer::default(),
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

    /// The same with as much padding as makes the result `size / stride` large.
    pub fn same(self) -> Self {
        self.padding(Padding::Same)
    }

    /// The same without a bias.
    pub fn without_bias(self) -> Self {
        Self { use_bias: false, ..self }
    }

    /// The same with an activation.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// The same with rectified results.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }

    /// The same with another start of the kernel.
    pub fn kernel_initializer(self, kernel_initializer: Initializer) -> Self {
        Self { kernel_initializer, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "conv2d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, _, channels] = at.extents(x.value)?;
        // A number of groups that does not divide the channels is refused by the op, with the shapes.
        let per_group = (channels / self.groups.max(1)).max(1);
        let shape = Shape::new([self.kernel_size[0], self.kernel_size[1], per_group, self.filters]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let sliding = Sliding { strides: self.strides, dilation: self.dilation_rate, padding: self.padding };
        let mut y = if self.groups == channels && self.groups > 1 && self.filters.is_multiple_of(channels) {
            // Every channel has filters of its own: the same numbers are a depthwise kernel, whose op is much faster.
            let multiplier = self.filters / channels;
            let kernel =
                at.reshaped(kernel, [self.kernel_size[0], self.kernel_size[1], channels, multiplier])?;
            at.op(op::DepthwiseConv2d { sliding }, &[x.value, kernel])?
        } else {
            at.op(op::Conv2d { sliding, groups: self.groups }, &[x.value, kernel])?
        };
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}
