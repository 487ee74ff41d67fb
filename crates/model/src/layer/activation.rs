//! Activation functions, on their own or at the end of a layer.

use super::{Context, Lowered, Relu, Signal};
use plimsoll_graph::op::{Binary, LogSoftmax, Slice, Softmax, Unary};
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
    /// The first half of the last axis times the sigmoid of the second (Dauphin et al. 2017).
    Glu,
    /// `x` where its size is above 0.5, else 0.
    HardShrink,
    /// `x` nearer to 0 by 0.5.
    SoftShrink,
    /// `x - tanh(x)`
    TanhShrink,
    /// `(x + sqrt(x^2 + 4)) / 2`
    Squareplus,
    /// 0 below -1, `x` above 1, and `(x + 1)^2 / 4` between.
    SparsePlus,
    /// `(x + 1) / 2` between 0 and 1.
    SparseSigmoid,
    /// A rectifier with settings.
    Rectifier(Relu),
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
            Self::HardTanh => between(at, x, [-1.0, 1.0]),
            Self::Glu => glu(at, x),
            Self::HardShrink => {
                let size = at.op(Unary::Abs, &[x])?;
                let limit = at.scalar(0.5)?;
                let above = at.op(Binary::Less, &[limit, size])?;
                at.op(Binary::Multiply, &[x, above])
            }
            Self::SoftShrink => {
                let above = at.op(Unary::AddScalar(-0.5), &[x])?;
                let above = at.op(Unary::Relu, &[above])?;
                let turned = at.op(Unary::Negate, &[x])?;
                let below = at.op(Unary::AddScalar(-0.5), &[turned])?;
                let below = at.op(Unary::Relu, &[below])?;
                at.op(Binary::Subtract, &[above, below])
            }
            Self::TanhShrink => {
                let tanh = at.op(Unary::Tanh, &[x])?;
                at.op(Binary::Subtract, &[x, tanh])
            }
            Self::Squareplus => {
                let square = at.op(Unary::Square, &[x])?;
                let square = at.op(Unary::AddScalar(4.0), &[square])?;
                let root = at.op(Unary::Sqrt, &[square])?;
                let sum = at.op(Binary::Add, &[x, root])?;
                at.op(Unary::MultiplyScalar(0.5), &[sum])
            }
            Self::SparsePlus => {
                let middle = between(at, x, [-1.0, 1.0])?;
                let middle = at.op(Unary::AddScalar(1.0), &[middle])?;
                let middle = at.op(Unary::Square, &[middle])?;
                let middle = at.op(Unary::MultiplyScalar(0.25), &[middle])?;
                let above = at.op(Unary::AddScalar(-1.0), &[x])?;
                let above = at.op(Unary::Relu, &[above])?;
                at.op(Binary::Add, &[middle, above])
            }
            Self::SparseSigmoid => {
                let moved = at.op(Unary::AddScalar(1.0), &[x])?;
                let half = at.op(Unary::MultiplyScalar(0.5), &[moved])?;
                between(at, half, [0.0, 1.0])
            }
            Self::Rectifier(relu) => relu.apply(at, x),
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
            // With its alpha of 1 it is the same.
            "celu" => Self::Elu(1.0),
            "glu" => Self::Glu,
            "hard_shrink" => Self::HardShrink,
            "soft_shrink" => Self::SoftShrink,
            "tanh_shrink" => Self::TanhShrink,
            "squareplus" => Self::Squareplus,
            "sparse_plus" => Self::SparsePlus,
            "sparse_sigmoid" => Self::SparseSigmoid,
            _ => return None,
        })
    }

    fn op(self) -> Option<OpKind> {
        let unary = match self {
            Self::Linear => return None,
            // What `apply` makes of several ops.
            Self::Selu | Self::Softsign | Self::Mish | Self::LogSigmoid | Self::HardTanh => return None,
            Self::Glu | Self::HardShrink | Self::SoftShrink | Self::TanhShrink => return None,
            Self::Squareplus | Self::SparsePlus | Self::SparseSigmoid | Self::Rectifier(_) => return None,
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

/// No lower and no higher than a range.
fn between(at: &mut Context<'_>, x: ValueId, [low, high]: [f32; 2]) -> Result<ValueId, ShapeError> {
    let above = at.op(Unary::MaximumScalar(low), &[x])?;
    let high = at.scalar(high)?;
    at.op(Binary::Minimum, &[above, high])
}

fn glu(at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
    let extents = at.shape(x).extents().to_vec();
    let last = extents.len() - 1;
    if !extents[last].is_multiple_of(2) {
        return Err(at.refusal(&[x], "its last axis has no halves".to_string()));
    }
    let mut half = |number: usize| {
        let (mut start, mut size) = (vec![0; extents.len()], extents.clone());
        size[last] /= 2;
        start[last] = number * size[last];
        at.op(Slice { start, size }, &[x])
    };
    let (value, gate) = (half(0)?, half(1)?);
    let gate = at.op(Unary::Sigmoid, &[gate])?;
    at.op(Binary::Multiply, &[value, gate])
}
