//! Pooling, padding, cutting and enlarging volumes: axis by axis, or as images.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Interpolation, Pad, Padding, Pool, Pool2d, Slice, Sliding, Upsample2d};
use serde::{Deserialize, Serialize};

/// The largest element or the mean of each window: of rows and columns, and of that along the depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pooling3d {
    /// What is kept.
    pub pool: Pool,
    /// Slices, rows and columns of the window.
    pub pool_size: [usize; 3],
    /// Steps between neighbouring windows.
    pub strides: [usize; 3],
    /// What surrounds the volume.
    pub padding: Padding,
}

/// So many zeros around the volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroPadding3d {
    /// Before and after, along each axis.
    pub padding: [[usize; 2]; 3],
}

/// The volume without its border.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cropping3d {
    /// Before and after, along each axis.
    pub cropping: [[usize; 2]; 3],
}

/// Every element so many times along each axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpSampling3d {
    /// How many slices, rows and columns each of them becomes.
    pub size: [usize; 3],
}

impl Pooling3d {
    pub(super) fn kind(&self) -> &'static str {
        match self.pool {
            Pool::Max => "max_pooling3d",
            Pool::Average => "average_pooling3d",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, slices, rows, columns, channels] = at.extents(x.value)?;
        let ([kd, kh, kw], [sd, sh, sw]) = (self.pool_size, self.strides);
        let sliding = |strides| Sliding { strides, padding: self.padding, ..Sliding::default() };
        let images = at.reshaped(x.value, [batch * slices, rows, columns, channels])?;
        let pooling = Pool2d { pool: self.pool, window: [kh, kw], sliding: sliding([sh, sw]) };
        let pooled = at.op(pooling, &[images])?;
        let [_, rows, columns, _] = at.extents(pooled)?;
        let columned = at.reshaped(pooled, [batch, slices, rows * columns, channels])?;
        let pooling = Pool2d { pool: self.pool, window: [kd, 1], sliding: sliding([sd, 1]) };
        let pooled = at.op(pooling, &[columned])?;
        let [_, slices, ..]: [usize; 4] = at.extents(pooled)?;
        Ok(Signal::bare(at.reshaped(pooled, [batch, slices, rows, columns, channels])?))
    }
}

impl ZeroPadding3d {
    pub(super) fn kind(&self) -> &'static str {
        "zero_padding3d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        at.extents::<5>(x.value)?;
        let x = at.float(x.value)?;
        let side = |side: usize| {
            let [d, h, w] = self.padding.map(|both| both[side]);
            vec![0, d, h, w, 0]
        };
        Ok(Signal::bare(at.op(Pad { before: side(0), after: side(1), value: 0.0 }, &[x])?))
    }
}

impl Cropping3d {
    pub(super) fn kind(&self) -> &'static str {
        "cropping3d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, slices, rows, columns, channels] = at.extents(x.value)?;
        let left =
            |extent: usize, [before, after]: [usize; 2]| extent.saturating_sub(before.saturating_add(after));
        let [d, h, w] = self.cropping;
        let start = vec![0, d[0], h[0], w[0], 0];
        let size = vec![batch, left(slices, d), left(rows, h), left(columns, w), channels];
        Ok(Signal::bare(at.op(Slice { start, size }, &[x.value])?))
    }
}

impl UpSampling3d {
    pub(super) fn kind(&self) -> &'static str {
        "up_sampling3d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, slices, rows, columns, channels] = at.extents(x.value)?;
        let x = at.float(x.value)?;
        let [d, h, w] = self.size;
        let enlarge = |factor| Upsample2d { interpolation: Interpolation::Nearest, factor };
        let images = at.reshaped(x, [batch * slices, rows, columns, channels])?;
        let larger = at.op(enlarge([h, w]), &[images])?;
        let [_, rows, columns, _] = at.extents(larger)?;
        let columned = at.reshaped(larger, [batch, slices, rows * columns, channels])?;
        let deeper = at.op(enlarge([d, 1]), &[columned])?;
        let [_, slices, ..]: [usize; 4] = at.extents(deeper)?;
        Ok(Signal::bare(at.reshaped(deeper, [batch, slices, rows, columns, channels])?))
    }
}
