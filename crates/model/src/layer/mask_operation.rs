//! The ops that Keras makes masks of: comparisons and logic, on numbers that are 1 or 0.

use super::masking::not_equal;
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Fill, Reduce, Reduction};
use serde::{Deserialize, Serialize};

/// One op on masks, named as Keras's class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaskOperation {
    /// 1 where a value is another than this one.
    NotEqual(f32),
    /// 1 where one of two masks is.
    LogicalOr,
    /// 1 where both masks are.
    LogicalAnd,
    /// 1 where any element along an axis is, which disappears or stays with extent 1.
    Any {
        /// Counted from the end if negative.
        axis: isize,
        /// Whether the axis stays.
        keepdims: bool,
    },
    /// The same number everywhere, in the shape of the input.
    Like(f32),
}

impl MaskOperation {
    pub(super) fn kind(&self) -> &'static str {
        "mask_operation"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let value = match *self {
            Self::NotEqual(value) => {
                let [x] = at.operands(inputs)?;
                not_equal(at, x.value, value)?
            }
            Self::LogicalOr | Self::LogicalAnd => {
                let [a, b] = at.operands(inputs)?;
                let op = if *self == Self::LogicalOr { Binary::Maximum } else { Binary::Minimum };
                at.op(op, &[a.value, b.value])?
            }
            Self::Any { axis, keepdims } => {
                let [x] = at.operands(inputs)?;
                let axes = vec![at.axis(axis, x.value)?];
                at.op(Reduce { reduction: Reduction::Max, axes, keep_axes: keepdims }, &[x.value])?
            }
            Self::Like(value) => {
                let [x] = at.operands(inputs)?;
                let shape = at.shape(x.value).clone();
                at.op(Fill { shape, value }, &[])?
            }
        };
        Ok(Signal::bare(value))
    }
}
