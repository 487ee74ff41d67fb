//! Features of mean 0 and variance 1, by statistics of the data set.

use super::{Context, Lowered, Signal};
use plimsoll_graph::TensorType;
use plimsoll_graph::op::{Binary, Unary};
use serde::{Deserialize, Serialize};

/// `(x - mean) / sqrt(variance)` along the last axis, with statistics that were measured before training.
///
/// Like Keras's layer it also owns a `count`, which only old files use; here it is an int32.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalization {}

/// Keras's epsilon, which the deviation is never below.
const SMALLEST_DEVIATION: f32 = 1e-7;

impl Normalization {
    pub(super) fn kind(&self) -> &'static str {
        "normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let features = at.features(x.value)?;
        let mean = at.statistic("mean", TensorType::f32([features]), 0.0)?;
        let variance = at.statistic("variance", TensorType::f32([features]), 1.0)?;
        at.statistic("count", TensorType::i32([]), 0.0)?;
        let centred = at.op(Binary::Subtract, &[x.value, mean])?;
        let deviation = at.op(Unary::Sqrt, &[variance])?;
        let deviation = at.op(Unary::MaximumScalar(SMALLEST_DEVIATION), &[deviation])?;
        Ok(x.with(at.op(Binary::Divide, &[centred, deviation])?))
    }
}
