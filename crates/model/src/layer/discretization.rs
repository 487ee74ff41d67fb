//! Numbers as the intervals they lie in.

use super::{Context, Encoding, Lowered, Signal};
use plimsoll_graph::op::Bucket;
use serde::{Deserialize, Serialize};

/// The interval that each number lies in, as an integer or a vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Discretization {
    /// Where intervals begin, but for the first; ascending.
    pub bin_boundaries: Vec<f32>,
    /// What is made of the intervals.
    pub output_mode: Encoding,
}

impl Discretization {
    pub(super) fn kind(&self) -> &'static str {
        "discretization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = at.float(x.value)?;
        let intervals = at.op(Bucket::Boundaries(self.bin_boundaries.clone()), &[x])?;
        self.output_mode.apply(at, intervals, self.bin_boundaries.len() + 1)
    }
}
