//! Vectors of length 1.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Reduce, Reduction, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// `x / |x|` along axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitNormalization {
    /// Counted from the end if negative; the batch is axis 0.
    pub axis: Vec<isize>,
}

impl Default for UnitNormalization {
    fn default() -> Self {
        Self { axis: vec![-1] }
    }
}

impl UnitNormalization {
    pub(super) fn kind(&self) -> &'static str {
        "unit_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let axes = at.axes(&self.axis, x.value)?;
        Ok(x.with(unit_length(at, x.value, axes)?))
    }
}

/// The value divided by its length along ascending axes, which never counts as less than Keras's 1e-6.
pub(super) fn unit_length(at: &mut Context<'_>, x: ValueId, axes: Vec<usize>) -> Result<ValueId, ShapeError> {
    let squares = at.op(Unary::Square, &[x])?;
    let sum = at.op(Reduce { reduction: Reduction::Sum, axes, keep_axes: true }, &[squares])?;
    let sum = at.op(Unary::MaximumScalar(1e-12), &[sum])?;
    let inverse = at.op(Unary::Rsqrt, &[sum])?;
    at.op(Binary::Multiply, &[x, inverse])
}
