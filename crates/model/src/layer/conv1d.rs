//! Convolution of sequences: that of an image of one row.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{self, Padding, Sliding};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A convolution over time with a bias and an activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv1d {
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
    /// Into how many independent parts the channels are cut.
    pub groups: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

/// Zeros added around a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimePadding {
    /// None: the window stays inside.
    #[default]
    Valid,
    /// As much as makes `output = ceil(input / stride)`.
    Same,
    /// All before the first position, so that no window sees what comes after its own.
    Causal,
}

impl Conv1d {
    /// A linear convolution with a bias, steps of 1 and no padding.
    pub fn new(filters: usize, window: usize) -> Self {
        Self {
            filters,
            kernel_size: window,
            strides: 1,
            padding: TimePadding::Valid,
            dilation_rate: 1,
            groups: 1,
            activation: Activation::Linear,
            use_bias: true,
            kernel_initializer: Initializer::default(),
        }
    }

    /// The same with an activation.
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "conv1d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, channels] = at.extents(x.value)?;
        // A number of groups that does not divide the channels is refused by the op, with the shapes.
        let per_group = (channels / self.groups.max(1)).max(1);
        let shape = Shape::new([self.kernel_size, per_group, self.filters]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let kernel = at.reshaped(kernel, [1, self.kernel_size, per_group, self.filters])?;
        let sliding = self.padding.sliding(at, self.kernel_size, self.strides, self.dilation_rate)?;
        let row = as_row(at, x.value)?;
        let y = at.op(op::Conv2d { sliding, groups: self.groups }, &[row, kernel])?;
        let mut y = as_sequence(at, y)?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }
}

impl TimePadding {
    /// How a window moves along the row that stands for a sequence.
    pub(super) fn sliding(
        self,
        at: &Context<'_>,
        window: usize,
        stride: usize,
        dilation: usize,
    ) -> Result<Sliding, ShapeError> {
        let padding = match self {
            Self::Valid => Padding::Valid,
            Self::Same => Padding::Same,
            Self::Causal => {
                let before = at.product(&[window.saturating_sub(1), dilation])?;
                Padding::Explicit { before: [0, before], after: [0, 0] }
            }
        };
        Ok(Sliding { strides: [1, stride], dilation: [1, dilation], padding })
    }
}

/// `[n, t, c] -> [n, 1, t, c]`
pub(super) fn as_row(at: &mut Context<'_>, sequence: ValueId) -> Result<ValueId, ShapeError> {
    let [batch, length, channels] = at.extents(sequence)?;
    at.reshaped(sequence, [batch, 1, length, channels])
}

/// `[n, 1, t, c] -> [n, t, c]`
pub(super) fn as_sequence(at: &mut Context<'_>, row: ValueId) -> Result<ValueId, ShapeError> {
    let [batch, _, length, channels] = at.extents(row)?;
    at.reshaped(row, [batch, length, channels])
}
