//! Enlarging an image by whole factors.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Interpolation, Resize2d, Upsample2d};
use serde::{Deserialize, Serialize};

/// The image so many times as large.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpSampling2d {
    /// How many rows and columns each row and column becomes.
    pub size: [usize; 2],
    /// How new pixels are made.
    pub interpolation: Interpolation,
}

impl UpSampling2d {
    /// Every pixel repeated so many times in both directions.
    pub fn new(factor: usize) -> Self {
        Self { size: [factor; 2], interpolation: Interpolation::Nearest }
    }

    pub(super) fn kind(&self) -> &'static str {
        "up_sampling2d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = at.float(x.value)?;
        let (interpolation, factor) = (self.interpolation, self.size);
        if matches!(interpolation, Interpolation::Nearest | Interpolation::Bilinear) {
            return Ok(Signal::bare(at.op(Upsample2d { interpolation, factor }, &[x])?));
        }
        let [_, rows, columns, _] = at.extents(x)?;
        let size = [at.product(&[rows, factor[0]])?, at.product(&[columns, factor[1]])?];
        Ok(Signal::bare(at.op(Resize2d { interpolation, antialias: false, size }, &[x])?))
    }
}
