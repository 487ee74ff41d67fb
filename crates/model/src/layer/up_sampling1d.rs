//! Repeating every position of a sequence.

use super::conv1d::{as_row, as_sequence};
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Interpolation, Upsample2d};
use serde::{Deserialize, Serialize};

/// The sequence so many times as long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpSampling1d {
    /// How often each position is repeated.
    pub size: usize,
}

impl UpSampling1d {
    pub(super) fn kind(&self) -> &'static str {
        "up_sampling1d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let row = as_row(at, x.value)?;
        let upsample = Upsample2d { interpolation: Interpolation::Nearest, factor: [1, self.size] };
        let longer = at.op(upsample, &[row])?;
        Ok(Signal::bare(as_sequence(at, longer)?))
    }
}
