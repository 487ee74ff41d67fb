//! Cutting the ends off a sequence.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Slice;
use serde::{Deserialize, Serialize};

/// The sequence without so many positions at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cropping1d {
    /// At the beginning and at the end.
    pub cropping: [usize; 2],
}

impl Cropping1d {
    pub(super) fn kind(&self) -> &'static str {
        "cropping1d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, length, channels] = at.extents(x.value)?;
        let [before, after] = self.cropping;
        let rest = length.checked_sub(before).and_then(|rest| rest.checked_sub(after));
        let Some(rest) = rest.filter(|&rest| rest > 0) else {
            return Err(at.refusal(&[x.value], format!("cropping {:?} leaves nothing", self.cropping)));
        };
        let slice = Slice { start: vec![0, before, 0], size: vec![batch, rest, channels] };
        Ok(Signal::bare(at.op(slice, &[x.value])?))
    }
}
