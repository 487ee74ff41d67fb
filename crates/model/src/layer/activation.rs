//! Activation functions, on their own or at the end of a layer.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{LogSoftmax, Softmax, Unary};
use plimsoll_graph::{OpKind, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// An elementwise function, or a softmax over the last axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// Nothing.
    #[default]
    Linear,
    /// `max(x, 0)`
    Relu,
    /// `min(max(x, 0), 6)`
    Relu6,
    /// `x` above 0, else the slope times `x`.
    LeakyRelu(f32),
    /// `x` above 0, else `alpha (e^x - 1)`.
    Elu(f32),
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `relu6(x + 3) / 6`
    HardSigmoid,
    /// Hyperbolic tangent.
    Tanh,
    /// `x sigmoid(x)`, also called SiLU.
    Swish,
    /// `x hard_sigmoid(x)`
    HardSwish,
    /// `x` times the normal distribution function, exactly.
    Gelu,
    /// The same by its tanh approximation.
    GeluTanh,
    /// `e^x`
    Exponential,
    /// Softmax over the last axis.
    Softmax,
    /// Its logarithm.
    LogSoftmax,
}

impl Activation {
    pub(super) fn kind(&self) -> &'static str {
        "activation"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        Ok(x.with(self.apply(at, x.value)?))
    }

    /// Adds the op, if there is anything to do.
    pub(super) fn apply(self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        match self.op() {
            Some(op) => at.op(op, &[x]),
            None => Ok(x),
        }
    }

    fn op(self) -> Option<OpKind> {
        let unary = match self {
            Self::Linear => return None,
            Self::Softmax => return Some(Softmax {}.into()),
            Self::LogSoftmax => return Some(LogSoftmax {}.into()),
            Self::Relu => Unary::Relu,
            Self::Relu6 => Unary::Relu6,
            Self::LeakyRelu(slope) => Unary::LeakyRelu(slope),
            Self::Elu(alpha) => Unary::Elu(alpha),
            Self::Sigmoid => Unary::Sigmoid,
            Self::HardSigmoid => Unary::HardSigmoid,
            Self::Tanh => Unary::Tanh,
            Self::Swish => Unary::Swish,
            Self::HardSwish => Unary::HardSwish,
            Self::Gelu => Unary::Gelu,
            Self::GeluTanh => Unary::GeluTanh,
            Self::Exponential => Unary::Exp,
        };
        Some(unary.into())
    }
}
