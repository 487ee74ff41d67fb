//! Depth: what convolutions and pooling of volumes do along it, where ops see images.
//!
//! A volume is `[n, d, h, w, c]`. Slices of it are images; what they give is moved along the depth and added up.

use super::{Context, ShapeError};
use plimsoll_graph::op::{Binary, Pad, Padding, Slice, Sliding};
use plimsoll_graph::{Shape, ValueId};

/// How a window moves along the depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    /// Slices of the volume.
    pub(super) input: usize,
    /// Slices of the window.
    pub(super) window: usize,
    /// Steps between neighbouring windows.
    pub(super) stride: usize,
    /// Steps between neighbouring slices of a window.
    pub(super) dilation: usize,
    /// Slices of padding before the volume.
    pub(super) before: usize,
    /// Slices of the result.
    pub(super) output: usize,
}

impl Depth {
    pub(super) fn new(
        at: &Context<'_>,
        input: usize,
        window: usize,
        [stride, dilation]: [usize; 2],
        padding: Padding,
    ) -> Result<Self, ShapeError> {
        let sliding = Sliding { strides: [stride, 1], dilation: [dilation, 1], padding };
        let geometry = sliding.over([input, 1], [window, 1]);
        let geometry = geometry.map_err(|problem| at.refusal(&[], format!("along the depth: {problem}")))?;
        let (before, output) = (geometry.before[0], geometry.output[0]);
        Ok(Self { input, window, stride, dilation, before, output })
    }

    /// How far slice `k` of a window is from the first slice that it reads, which may be padding.
    fn offset(&self, k: usize) -> isize {
        (k * self.dilation) as isize - self.before as isize
    }
}

/// From `[n, d, inner, k, channels]`, what each slice of a window makes of each slice of a volume, the sum over the
/// windows, `[n, output, inner, channels]`. Windows move by one slice.
pub(super) fn gathered(at: &mut Context<'_>, parts: ValueId, depth: Depth) -> Result<ValueId, ShapeError> {
    let mut sum = None;
    for k in 0..depth.window {
        let part = taken(at, parts, 3, k)?;
        if let Some(part) = moved(at, part, depth.offset(k), depth.output)? {
            sum = Some(added(at, sum, part)?);
        }
    }
    sum.ok_or_else(|| at.refusal(&[parts], "every window lies in the padding".to_string()))
}

/// The opposite: from `[n, output, inner, k, channels]` the sum of what each slice of the volume gets,
/// `[n, input, inner, channels]`.
pub(super) fn scattered(at: &mut Context<'_>, parts: ValueId, depth: Depth) -> Result<ValueId, ShapeError> {
    let mut sum = None;
    for k in 0..depth.window {
        let part = taken(at, parts, 3, k)?;
        let part = spread(at, part, depth.stride)?;
        if let Some(part) = moved(at, part, -depth.offset(k), depth.input)? {
            sum = Some(added(at, sum, part)?);
        }
    }
    sum.ok_or_else(|| at.refusal(&[parts], "every window lies in the padding".to_string()))
}

/// Of a volume `[n, d, inner, channels]` what slice `k` of each window reads: `[n, output, inner, channels]`.
pub(super) fn read(at: &mut Context<'_>, x: ValueId, depth: Depth, k: usize) -> Result<ValueId, ShapeError> {
    let [batch, _, inner, channels] = at.extents(x)?;
    let reach = at.product(&[depth.output, depth.stride])?;
    let Some(run) = moved(at, x, depth.offset(k), reach)? else {
        return at.op(
            plimsoll_graph::op::Fill { shape: [batch, depth.output, inner, channels].into(), value: 0.0 },
            &[],
        );
    };
    if depth.stride == 1 {
        return Ok(run);
    }
    let steps = at.reshaped(run, [batch, depth.output, depth.stride, inner * channels])?;
    let first = Slice { start: vec![0; 4], size: vec![batch, depth.output, 1, inner * channels] };
    let first = at.op(first, &[steps])?;
    at.reshaped(first, [batch, depth.output, inner, channels])
}

/// One element of an axis, which disappears.
fn taken(at: &mut Context<'_>, x: ValueId, axis: usize, index: usize) -> Result<ValueId, ShapeError> {
    let extents = at.shape(x).extents().to_vec();
    if extents[axis] > 1 {
        let (mut start, mut size) = (vec![0; extents.len()], extents.clone());
        (start[axis], size[axis]) = (index, 1);
        let cut = at.op(Slice { start, size }, &[x])?;
        return without(at, cut, axis);
    }
    without(at, x, axis)
}

fn without(at: &mut Context<'_>, x: ValueId, axis: usize) -> Result<ValueId, ShapeError> {
    let mut extents = at.shape(x).extents().to_vec();
    extents.remove(axis);
    at.reshaped(x, Shape::new(extents))
}

/// `y[o] = x[o + offset]` along axis 1, 0 outside; nothing if all of it lies outside.
fn moved(
    at: &mut Context<'_>,
    x: ValueId,
    offset: isize,
    output: usize,
) -> Result<Option<ValueId>, ShapeError> {
    let extents = at.shape(x).extents().to_vec();
    let first = offset.max(0);
    let last = (extents[1] as isize).min(output as isize + offset);
    if first >= last {
        return Ok(None);
    }
    let count = (last - first) as usize;
    let mut value = x;
    if count < extents[1] {
        let (mut start, mut size) = (vec![0; extents.len()], extents.clone());
        (start[1], size[1]) = (first as usize, count);
        value = at.op(Slice { start, size }, &[x])?;
    }
    if count < output {
        let (mut before, mut after) = (vec![0; extents.len()], vec![0; extents.len()]);
        before[1] = (first - offset) as usize;
        after[1] = output - count - before[1];
        value = at.op(Pad { before, after, value: 0.0 }, &[value])?;
    }
    Ok(Some(value))
}

/// Zeros between the slices, so that they are a stride apart.
fn spread(at: &mut Context<'_>, x: ValueId, stride: usize) -> Result<ValueId, ShapeError> {
    if stride == 1 {
        return Ok(x);
    }
    let [batch, depth, inner, channels] = at.extents(x)?;
    let apart = at.reshaped(x, [batch, depth, 1, inner * channels])?;
    let pad = Pad { before: vec![0; 4], after: vec![0, 0, stride - 1, 0], value: 0.0 };
    let apart = at.op(pad, &[apart])?;
    at.reshaped(apart, [batch, depth * stride, inner, channels])
}

fn added(at: &mut Context<'_>, sum: Option<ValueId>, part: ValueId) -> Result<ValueId, ShapeError> {
    match sum {
        Some(sum) => at.op(Binary::Add, &[sum, part]),
        None => Ok(part),
    }
}
