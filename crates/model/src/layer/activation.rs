//! Activation functions, on their own or at the end of a layer.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, LogSoftmax, Softmax, Unary};
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
    /// `elu(x)` with the scale and alpha that keep mean and variance (Klambauer et al. 2017).
    Selu,
    /// `log(1 + e^x)`
    Softplus,
    /// `x / (1 + |x|)`
    Softsign,
    /// `x tanh(softplus(x))`
    Mish,
    /// `log(sigmoid(x))`
    LogSigmoid,
    /// `min(max(x, -1), 1)`
    HardTanh,
    /// `e^x`
    Exponential,
    /// Softmax over the last axis.
    Softmax,
    /// Its logarithm.
    LogSoftmax,
}

/// The constants of SELU, as Keras has them.
const SELU_ALPHA: f32 = 1.673_263_2;
const SELU_SCALE: f32 = 1.050_701;

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
        let y = self.add(at, x)?;
        if matches!(self, Self::Softmax | Self::Sigmoid) {
            at.made_from_logits(y, x);
        }
        Ok(y)
    }

    fn add(self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        match self {
            Self::Selu => {
                let elu = at.op(Unary::Elu(SELU_ALPHA), &[x])?;
                at.op(Unary::MultiplyScalar(SELU_SCALE), &[elu])
            }
            Self::Softsign => {
                let size = at.op(Unary::Abs, &[x])?;
                let divisor = at.op(Unary::AddScalar(1.0), &[size])?;
                at.op(Binary::Divide, &[x, divisor])
            }
            Self::Mish => {
                let softplus = at.op(Unary::Softplus, &[x])?;
                let gate = at.op(Unary::Tanh, &[softplus])?;
                at.op(Binary::Multiply, &[x, gate])
            }
            Self::LogSigmoid => {
                let turned = at.op(Unary::Negate, &[x])?;
                let softplus = at.op(Unary::Softplus, &[turned])?;
                at.op(Unary::Negate, &[softplus])
            }
            Self::HardTanh => {
                let above = at.op(Unary::MaximumScalar(-1.0), &[x])?;
                let one = at.scalar(1.0)?;
                at.op(Binary::Minimum, &[above, one])
            }
            simple => match simple.op() {
                Some(op) => at.op(op, &[x]),
                None => Ok(x),
            },
        }
    }

    /// The activation that Keras means by a name, with Keras's defaults.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "linear" => Self::Linear,
            "relu" => Self::Relu,
            "relu6" => Self::Relu6,
            "leaky_relu" => Self::LeakyRelu(0.2),
            "elu" => Self::Elu(1.0),
            "selu" => Self::Selu,
            "sigmoid" => Self::Sigmoid,
            "hard_sigmoid" => Self::HardSigmoid,
            "tanh" => Self::Tanh,
            "silu" | "swish" => Self::Swish,
            "hard_silu" | "hard_swish" => Self::HardSwish,
            "gelu" => Self::Gelu,
            "softplus" => Self::Softplus,
            "softsign" => Self::Softsign,
            "mish" => Self::Mish,
            "log_sigmoid" => Self::LogSigmoid,
            "hard_tanh" => Self::HardTanh,
            "exponential" => Self::Exponential,
            "softmax" => Self::Softmax,
            "log_softmax" => Self::LogSoftmax,
            _ => return None,
        })
    }

    fn op(self) -> Option<OpKind> {
        let unary = match self {
            Self::Linear => return None,
            // What `apply` makes of several ops.
            Self::Selu | Self::Softsign | Self::Mish | Self::LogSigmoid | Self::HardTanh => return None,
            Self::Softplus => Unary::Softplus,
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
