//! Images at another size.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Interpolation, Resize2d};
use serde::{Deserialize, Serialize};

/// The image at a given size, without regard to its proportions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resizing {
    /// Rows of the result.
    pub height: usize,
    /// Columns of the result.
    pub width: usize,
    /// How new pixels are made.
    pub interpolation: Interpolation,
}

impl Resizing {
    pub(super) fn kind(&self) -> &'static str {
        "resizing"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let resize = Resize2d { interpolation: self.interpolation, size: [self.height, self.width] };
        Ok(Signal::bare(at.op(resize, &[x.value])?))
    }
}
