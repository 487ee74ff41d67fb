//! Enlarging an image by whole factors.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Interpolation, Upsample2d};
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
        let upsample = Upsample2d { interpolation: self.interpolation, factor: self.size };
        Ok(Signal::bare(at.op(upsample, &[x.value])?))
    }
}
