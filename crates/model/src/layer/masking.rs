//! Positions that are padding, told by their values.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, NotEqual, Reduce, Reduction};
use plimsoll_graph::{ElementType, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Masks the positions whose features are all one value, and makes them 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Masking {
    /// What the features of padding are.
    pub mask_value: f32,
}

impl Masking {
    pub(super) fn kind(&self) -> &'static str {
        "masking"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let last = at.axis(-1, x.value)?;
        at.features(x.value)?;
        let differs = not_equal(at, x.value, self.mask_value)?;
        let any = Reduce { reduction: Reduction::Max, axes: vec![last], keep_axes: false };
        let mask = at.op(any, &[differs])?;
        let kept = at.mask_for(mask, last + 1)?;
        Ok(Signal { value: at.op(Binary::Multiply, &[x.value, kept])?, mask: Some(mask) })
    }
}

/// 1 where a value is another than this one, else 0.
pub(super) fn not_equal(at: &mut Context<'_>, x: ValueId, value: f32) -> Result<ValueId, ShapeError> {
    if at.element(x) == ElementType::I32 {
        return at.op(NotEqual { value: value as i32 }, &[x]);
    }
    let value = at.scalar(value)?;
    let below = at.op(Binary::Less, &[x, value])?;
    let above = at.op(Binary::Less, &[value, x])?;
    at.op(Binary::Add, &[below, above])
}
