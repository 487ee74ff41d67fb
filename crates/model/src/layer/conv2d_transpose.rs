//! Transposed convolution, which enlarges images.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{Conv2d, Padding, Sliding, TransposedConv2d};
use plimsoll_graph::{Shape, ShapeError};
use serde::{Deserialize, Serialize};

/// A transposed convolution with a bias and an activation. Its kernel is `[rows, columns, filters, channels]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv2dTranspose {
    /// The number of channels of the result.
    pub filters: usize,
    /// Rows and columns of the window.
    pub kernel_size: [usize; 2],
    /// How many rows and columns each row and column becomes.
    pub strides: [usize; 2],
    /// What the convolution this is the transpose of surrounds its image with.
    pub padding: Padding,
    /// Rows and columns added to the result; chosen by Keras's rule if not given.
    pub output_padding: Option<[usize; 2]>,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: [usize; 2],
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

impl Conv2dTranspose {
    /// A linear layer with a bias and a square window that makes the image so many times as large.
    pub fn new(filters: usize, window: usize, stride: usize) -> Self {
        Self {
            filters,
            kernel_size: [window; 2],
            strides: [stride; 2],
            padding: Padding::Valid,
            output_padding: None,
            dilation_rate: [1, 1],
            activation: Activation::Linear,
            use_bias: true,
            kernel_initializer: Initializer::default(),
        }
    }

    /// The same with a result exactly `size * stride` large.
    pub fn same(self) -> Self {
        Self { padding: Padding::Same, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "conv2d_transpose"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, rows, columns, channels] = at.extents(x.value)?;
        let shape = Shape::new([self.kernel_size[0], self.kernel_size[1], self.filters, channels]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let along = |axis: usize, extent: usize| {
            let window = [self.kernel_size[axis], self.strides[axis], self.dilation_rate[axis]];
            size(at, window, self.padding, self.output_padding.map(|padding| padding[axis]), extent)
        };
        let size = [along(0, rows)?, along(1, columns)?];
        let kernel = at.parameter("kernel", shape, init)?;
        let sliding = Sliding { strides: self.strides, dilation: self.dilation_rate, padding: self.padding };
        let mut y =
            at.op(TransposedConv2d { conv: Conv2d { sliding, groups: 1 }, size }, &[x.value, kernel])?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}

/// The extent of the result along an axis, by Keras's rule (`compute_conv_transpose_output_shape`); the window is its
/// extent, stride and dilation.
pub(super) fn size(
    at: &Context<'_>,
    [window, stride, dilation]: [usize; 3],
    padding: Padding,
    given: Option<usize>,
    input: usize,
) -> Result<usize, ShapeError> {
    let reach = at.product(&[window.saturating_sub(1), dilation])? as u128 + 1;
    let before_last = (input as u128 - 1) * stride as u128;
    let size = match (padding, given) {
        (Padding::Same, None) => input as u128 * stride as u128,
        (Padding::Same, Some(extra)) => before_last + reach % 2 + extra as u128,
        (Padding::Valid, None) => before_last + reach.max(stride as u128),
        (Padding::Valid, Some(extra)) => before_last + reach + extra as u128,
        (Padding::Explicit { .. }, _) => {
            return Err(at.refusal(&[], "it takes no padding of its own".to_string()));
        }
    };
    size.try_into().map_err(|_| at.refusal(&[], "the strides are absurdly large".to_string()))
}
