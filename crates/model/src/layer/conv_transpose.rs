//! Transposed convolution of sequences and volumes, by that of images.

use super::conv2d_transpose::size;
use super::volume::{Depth, scattered};
use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Conv2d, Padding, Sliding, TransposedConv2d};
use serde::{Deserialize, Serialize};

/// A transposed convolution of sequences with a bias and an activation. Its kernel is `[window, filters, channels]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv1dTranspose {
    /// The number of channels of the result.
    pub filters: usize,
    /// Positions of the window.
    pub kernel_size: usize,
    /// How many positions each position becomes.
    pub strides: usize,
    /// What the convolution this is the transpose of surrounds its sequence with.
    pub padding: Padding,
    /// Positions added to the result; chosen by Keras's rule if not given.
    pub output_padding: Option<usize>,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

/// The same of volumes. Its kernel is `[slices, rows, columns, filters, channels]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv3dTranspose {
    /// The number of channels of the result.
    pub filters: usize,
    /// Slices, rows and columns of the window.
    pub kernel_size: [usize; 3],
    /// How many slices, rows and columns each of them becomes.
    pub strides: [usize; 3],
    /// What the convolution this is the transpose of surrounds its volume with.
    pub padding: Padding,
    /// Slices, rows and columns added to the result; chosen by Keras's rule if not given.
    pub output_padding: Option<[usize; 3]>,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: [usize; 3],
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

impl Conv1dTranspose {
    pub(super) fn kind(&self) -> &'static str {
        "conv1d_transpose"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, length, channels] = at.extents(x.value)?;
        let shape = Shape::new([self.kernel_size, self.filters, channels]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let kernel = at.reshaped(kernel, [1, self.kernel_size, self.filters, channels])?;
        let window = [self.kernel_size, self.strides, self.dilation_rate];
        let size = size(at, window, self.padding, self.output_padding, length)?;
        let sliding =
            Sliding { strides: [1, self.strides], dilation: [1, self.dilation_rate], padding: self.padding };
        let row = at.reshaped(x.value, [batch, 1, length, channels])?;
        let transposed = TransposedConv2d { conv: Conv2d { sliding, groups: 1 }, size: [1, size] };
        let y = at.op(transposed, &[row, kernel])?;
        let mut y = at.reshaped(y, [batch, size, self.filters])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}

impl Conv3dTranspose {
    pub(super) fn kind(&self) -> &'static str {
        "conv3d_transpose"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, slices, rows, columns, channels] = at.extents(x.value)?;
        let [kd, kh, kw] = self.kernel_size;
        let shape = Shape::new([kd, kh, kw, self.filters, channels]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let kernel = at.transposed(kernel, vec![1, 2, 0, 3, 4])?;
        let kernel = at.reshaped(kernel, [kh, kw, kd * self.filters, channels])?;
        let mut sizes = [0; 3];
        for (axis, &extent) in [slices, rows, columns].iter().enumerate() {
            let window = [self.kernel_size[axis], self.strides[axis], self.dilation_rate[axis]];
            let more = self.output_padding.map(|padding| padding[axis]);
            sizes[axis] = size(at, window, self.padding, more, extent)?;
        }
        let moves = [self.strides[0], self.dilation_rate[0]];
        let depth = Depth::new(at, sizes[0], kd, moves, self.padding)?;
        if depth.output != slices {
            let problem = format!("{slices} slices are no result of a convolution of {}", sizes[0]);
            return Err(at.refusal(&[x.value], problem));
        }
        let sliding = Sliding {
            strides: [self.strides[1], self.strides[2]],
            dilation: [self.dilation_rate[1], self.dilation_rate[2]],
            padding: self.padding,
        };
        let images = at.reshaped(x.value, [batch * slices, rows, columns, channels])?;
        let transposed = TransposedConv2d { conv: Conv2d { sliding, groups: 1 }, size: [sizes[1], sizes[2]] };
        let parts = at.op(transposed, &[images, kernel])?;
        let parts = at.reshaped(parts, [batch, slices, sizes[1] * sizes[2], kd, self.filters])?;
        let sum = scattered(at, parts, depth)?;
        let mut y = at.reshaped(sum, [batch, sizes[0], sizes[1], sizes[2], self.filters])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}
