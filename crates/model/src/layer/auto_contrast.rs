//! Images that use their whole range.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Reduce, Reduction, Unary};
use serde::{Deserialize, Serialize};

/// Pixels from the lowest to the highest of each channel, stretched over the range; in training and in inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoContrast {
    /// The range of pixels.
    pub value_range: [f32; 2],
}

impl AutoContrast {
    pub(super) fn kind(&self) -> &'static str {
        "auto_contrast"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let x = at.float(x.value)?;
        at.extents::<4>(x)?;
        let largest = Reduce { reduction: Reduction::Max, axes: vec![1, 2], keep_axes: true };
        let high = at.op(largest.clone(), &[x])?;
        let turned = at.op(Unary::Negate, &[x])?;
        let low = at.op(largest, &[turned])?;
        let low = at.op(Unary::Negate, &[low])?;
        // Where all pixels are equal they stay; a divisor of 1 keeps NaNs away.
        let differs = at.op(Binary::Less, &[low, high])?;
        let flat = at.op(Unary::Negate, &[differs])?;
        let flat = at.op(Unary::AddScalar(1.0), &[flat])?;
        let room = at.op(Binary::Subtract, &[high, low])?;
        let room = at.op(Binary::Add, &[room, flat])?;
        let moved = at.op(Binary::Subtract, &[x, low])?;
        let parts = at.op(Binary::Divide, &[moved, room])?;
        let [bottom, top] = self.value_range;
        let stretched = at.op(Unary::MultiplyScalar(top - bottom), &[parts])?;
        let stretched = at.op(Unary::AddScalar(bottom), &[stretched])?;
        let stretched = at.op(Binary::Multiply, &[stretched, differs])?;
        let kept = at.op(Binary::Multiply, &[x, flat])?;
        Ok(Signal::bare(at.op(Binary::Add, &[stretched, kept])?))
    }
}
