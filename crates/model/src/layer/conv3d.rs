//! Convolution of volumes: of their slices as images, gathered along the depth.

use super::volume::{Depth, gathered, read};
use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{Concat, Conv2d, Padding, Sliding};
use plimsoll_graph::{Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A convolution with a bias and an activation.
///
/// Where windows move by one slice, every slice is convolved once for all slices of the window, and the results are
/// moved and added: nothing is kept for the gradient but the volume. Else what a window reads is laid side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv3d {
    /// The number of channels of the result.
    pub filters: usize,
    /// Slices, rows and columns of the window.
    pub kernel_size: [usize; 3],
    /// Steps between neighbouring windows.
    pub strides: [usize; 3],
    /// What surrounds the volume; the same rule along all axes.
    pub padding: Padding,
    /// Steps between neighbouring elements of a window.
    pub dilation_rate: [usize; 3],
    /// Into how many independent parts the channels are cut.
    pub groups: usize,
    /// Applied last.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

impl Conv3d {
    pub(super) fn kind(&self) -> &'static str {
        "conv3d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [_, _, _, _, channels] = at.extents(x.value)?;
        let divides = self.groups > 0
            && channels.is_multiple_of(self.groups)
            && self.filters.is_multiple_of(self.groups);
        if !divides {
            let problem = format!("{} groups do not divide {channels} channels", self.groups);
            return Err(at.refusal(&[x.value], problem));
        }
        let [kd, kh, kw] = self.kernel_size;
        let shape = Shape::new([kd, kh, kw, channels / self.groups, self.filters]);
        let init = self.kernel_initializer.for_kernel(&shape);
        let kernel = at.parameter("kernel", shape, init)?;
        let mut y = self.convolved(at, x.value, kernel)?;
        if self.use_bias {
            y = at.biased(y)?;
        }
        Ok(Signal::bare(self.activation.apply(at, y)?))
    }

    /// The convolution alone.
    pub(super) fn convolved(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        kernel: ValueId,
    ) -> Result<ValueId, ShapeError> {
        let [batch, slices, ..]: [usize; 5] = at.extents(x)?;
        let moves = [self.strides[0], self.dilation_rate[0]];
        let depth = Depth::new(at, slices, self.kernel_size[0], moves, self.padding)?;
        let y = if depth.stride == 1 {
            self.by_slices(at, x, kernel, depth)?
        } else {
            self.side_by_side(at, x, kernel, depth)?
        };
        let [_, rows, columns, _]: [usize; 4] = at.extents(y)?;
        at.reshaped(y, [batch, depth.output, rows, columns, self.filters])
    }

    fn images(&self) -> Conv2d {
        let (strides, dilation) = (&self.strides, &self.dilation_rate);
        let sliding = Sliding {
            strides: [strides[1], strides[2]],
            dilation: [dilation[1], dilation[2]],
            padding: self.padding,
        };
        Conv2d { sliding, groups: self.groups }
    }

    /// Every slice once for all slices of the window; the results `[n * output, rows, columns, filters]`.
    fn by_slices(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        kernel: ValueId,
        depth: Depth,
    ) -> Result<ValueId, ShapeError> {
        let [batch, slices, rows, columns, channels] = at.extents(x)?;
        let ([kd, kh, kw], groups) = (self.kernel_size, self.groups);
        let (of_group, per_group) = (self.filters / groups, channels / groups);
        let kernel = at.reshaped(kernel, [kd, kh, kw, per_group, groups, of_group])?;
        let kernel = at.transposed(kernel, vec![1, 2, 3, 4, 0, 5])?;
        let kernel = at.reshaped(kernel, [kh, kw, per_group, groups * kd * of_group])?;
        let images = at.reshaped(x, [batch * slices, rows, columns, channels])?;
        let parts = at.op(self.images(), &[images, kernel])?;
        let [_, rows, columns, _] = at.extents(parts)?;
        let parts = at.reshaped(parts, [batch, slices, rows * columns * groups, kd, of_group])?;
        let sum = gathered(at, parts, depth)?;
        at.reshaped(sum, [batch * depth.output, rows, columns, self.filters])
    }

    /// What each window reads side by side as channels of one image.
    fn side_by_side(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        kernel: ValueId,
        depth: Depth,
    ) -> Result<ValueId, ShapeError> {
        let [batch, slices, rows, columns, channels] = at.extents(x)?;
        let ([kd, kh, kw], groups) = (self.kernel_size, self.groups);
        let per_group = channels / groups;
        let kernel = at.transposed(kernel, vec![1, 2, 0, 3, 4])?;
        let kernel = at.reshaped(kernel, [kh, kw, kd * per_group, self.filters])?;
        let flat = at.reshaped(x, [batch, slices, rows * columns, channels])?;
        let mut parts = Vec::with_capacity(kd);
        for k in 0..kd {
            let part = read(at, flat, depth, k)?;
            parts.push(at.reshaped(part, [batch * depth.output * rows * columns * groups, 1, per_group])?);
        }
        let joined = if kd > 1 { at.op(Concat { axis: 1 }, &parts)? } else { parts[0] };
        let images = at.reshaped(joined, [batch * depth.output, rows, columns, kd * channels])?;
        at.op(self.images(), &[images, kernel])
    }
}
