//! Functions of one number, applied to every element, with their gradients.

use super::expect::{Inferred, floats, operands, shape};
use crate::TensorType;
use crate::samples::Placed;
use serde::{Deserialize, Serialize};

/// `x -> f(x)`, elementwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unary {
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
    /// `min(max(x + 3, 0), 6) / 6`, as Keras 3 defines it.
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
    /// `log(1 + e^x)`
    Softplus,
    /// `e^x`
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// `1 / sqrt(x)`
    Rsqrt,
    /// `x^2`
    Square,
    /// `|x|`
    Abs,
    /// `-x`
    Negate,
    /// `x + c`
    AddScalar(f32),
    /// `c x`
    MultiplyScalar(f32),
    /// `max(x, c)`
    MaximumScalar(f32),
    /// `x^c`
    PowerScalar(f32),
    /// `x^2 / 2` within the delta, linear outside.
    Huber(f32),
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// The inverse of the sine.
    Asin,
    /// The inverse of the cosine.
    Acos,
    /// The inverse of the tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// The inverse of the hyperbolic sine.
    Asinh,
    /// The inverse of the hyperbolic cosine.
    Acosh,
    /// The inverse of the hyperbolic tangent.
    Atanh,
    /// The error function.
    Erf,
    /// The inverse of the error function.
    ErfInv,
    /// `log(1 + x)`
    Log1p,
    /// `e^x - 1`
    Expm1,
    /// The next integer below.
    Floor,
    /// The next integer above.
    Ceil,
    /// The nearest integer, the even one of two.
    Round,
    /// Without what stands behind the point.
    Trunc,
    /// -1, 0 or 1.
    Sign,
    /// 1 where `x` is not a number, else 0.
    IsNan,
    /// 1 where `x` is neither infinite nor NaN, else 0.
    IsFinite,
    /// `x`, through which no gradient goes.
    Detach,
}

/// `(saved, dy) -> dy f'(x)`, where `saved` is what [`Unary::saved`] says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnaryGradient(pub Unary);

/// What a gradient needs of the forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The argument.
    Input,
    /// The result, so that the function can run in place.
    Output,
    /// Neither: the derivative is constant, 0 for steps.
    Nothing,
}

impl Unary {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [x] = operands(inputs)?;
        floats(&[x])?;
        Ok(vec![x.clone()])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }

    /// What the gradient needs.
    pub fn saved(self) -> Saved {
        match self {
            Self::Relu | Self::Relu6 | Self::Elu(_) | Self::Sigmoid | Self::Tanh => Saved::Output,
            Self::Softplus | Self::Exp | Self::Sqrt | Self::Rsqrt => Saved::Output,
            // A negative slope would make the sign of the result useless, so the argument is kept.
            Self::LeakyRelu(_) | Self::HardSigmoid | Self::Swish | Self::HardSwish => Saved::Input,
            Self::Gelu | Self::GeluTanh | Self::Log | Self::Square | Self::Abs => Saved::Input,
            Self::MaximumScalar(_) | Self::PowerScalar(_) | Self::Huber(_) => Saved::Input,
            Self::Sin | Self::Cos | Self::Tan | Self::Asin | Self::Acos => Saved::Input,
            Self::Atan | Self::Sinh | Self::Cosh | Self::Asinh | Self::Acosh => Saved::Input,
            Self::Atanh | Self::Erf | Self::ErfInv | Self::Log1p | Self::Expm1 => Saved::Input,
            Self::Negate | Self::AddScalar(_) | Self::MultiplyScalar(_) => Saved::Nothing,
            Self::Floor | Self::Ceil | Self::Round | Self::Trunc | Self::Sign => Saved::Nothing,
            Self::IsNan | Self::IsFinite | Self::Detach => Saved::Nothing,
        }
    }

    /// Whether no gradient goes through it.
    pub fn is_flat(self) -> bool {
        matches!(
            self,
            Self::Floor
                | Self::Ceil
                | Self::Round
                | Self::Trunc
                | Self::Sign
                | Self::IsNan
                | Self::IsFinite
                | Self::Detach
        )
    }
}

impl UnaryGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [saved, dy] = operands(inputs)?;
        floats(&[saved, dy])?;
        shape("the gradient", dy, saved.shape.clone())?;
        Ok(vec![dy.clone()])
    }

    /// Element by element, samples do not meet.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        true
    }
}
