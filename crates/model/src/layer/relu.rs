//! The rectifier with all its settings.

use super::{Activation, Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// `max_value` from there on, `x` from the threshold on, else `negative_slope (x - threshold)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relu {
    /// The largest result, if there is one.
    pub max_value: Option<f32>,
    /// The slope below the threshold.
    pub negative_slope: f32,
    /// Where the function begins to rise.
    pub threshold: f32,
}

impl Relu {
    pub(super) fn kind(&self) -> &'static str {
        "re_lu"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        Ok(x.with(self.apply(at, x.value)?))
    }

    /// The function of any value.
    pub(super) fn apply(self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let simple = match (self.max_value, self.negative_slope, self.threshold) {
            (None, 0.0, 0.0) => Some(Activation::Relu),
            (None, slope, 0.0) => Some(Activation::LeakyRelu(slope)),
            (Some(6.0), 0.0, 0.0) => Some(Activation::Relu6),
            _ => None,
        };
        match simple {
            Some(activation) => activation.apply(at, x),
            None => self.general(at, x),
        }
    }

    fn general(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let mut y = at.op(Unary::Relu, &[x])?;
        if self.threshold != 0.0 {
            let threshold = at.scalar(self.threshold)?;
            let above = at.op(Binary::Less, &[threshold, x])?;
            y = at.op(Binary::Multiply, &[x, above])?;
        }
        if let Some(max_value) = self.max_value {
            let positive = at.op(Unary::Relu, &[y])?;
            let limit = at.scalar(max_value)?;
            y = at.op(Binary::Minimum, &[positive, limit])?;
        }
        if self.negative_slope != 0.0 {
            let turned = at.op(Unary::Negate, &[x])?;
            let below = at.op(Unary::AddScalar(self.threshold), &[turned])?;
            let below = at.op(Unary::Relu, &[below])?;
            let below = at.op(Unary::MultiplyScalar(self.negative_slope), &[below])?;
            y = at.op(Binary::Subtract, &[y, below])?;
        }
        Ok(y)
    }
}
