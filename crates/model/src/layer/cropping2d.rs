//! Cutting the edges off an image.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::Slice;
use serde::{Deserialize, Serialize};

/// The image without so many rows and columns at its edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cropping2d {
    /// Above and below, then left and right.
    pub cropping: [[usize; 2]; 2],
}

impl Cropping2d {
    pub(super) fn kind(&self) -> &'static str {
        "cropping2d"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let [batch, rows, columns, channels] = at.extents(x.value)?;
        let [[top, bottom], [left, right]] = self.cropping;
        let left_over = |extent: usize, before: usize, after: usize| {
            let rest = extent.checked_sub(before).and_then(|rest| rest.checked_sub(after));
            rest.filter(|&rest| rest > 0)
        };
        match (left_over(rows, top, bottom), left_over(columns, left, right)) {
            (Some(rows), Some(columns)) => {
                let slice =
                    Slice { start: vec![0, top, left, 0], size: vec![batch, rows, columns, channels] };
                Ok(Signal::bare(at.op(slice, &[x.value])?))
            }
            _ => Err(at.refusal(&[x.value], format!("cropping {:?} leaves nothing", self.cropping))),
        }
    }
}
