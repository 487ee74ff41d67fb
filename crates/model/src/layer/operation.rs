//! One operation on tensors: what Keras saves for arithmetic outside of layers, such as `x * 2 + y`.

mod arithmetic;
mod elementwise;
mod index;
mod moving;
mod named;
mod pairs;
mod products;
mod reductions;
mod shape;
mod sorting;
mod terms;
mod windows;

pub use index::Index;
pub use named::Named;

use super::{Activation, Concatenate, Context, Lowered, Signal, Softmax};
use plimsoll_graph::op::{Cast, Reduction, Unary};
use plimsoll_graph::{ElementType, ShapeError, ValueId};
use serde::{Deserialize, Serialize};
use shape::{expand, reduce, reshape, squeeze, stack};

/// A function of tensors and constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// What is computed.
    pub function: Function,
    /// What it is computed from, in the order of Keras's arguments.
    pub operands: Vec<Operand>,
}

/// What an operation is computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// The next of the node's inputs.
    Input,
    /// A number.
    Scalar(f32),
    /// A small tensor that does not change.
    Constant {
        /// Its extents.
        shape: Vec<usize>,
        /// Its elements, row by row.
        values: Vec<f32>,
    },
}

/// What an operation computes, named as Keras's classes. Axes count from the end if negative; the batch is axis 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are Keras's
pub enum Function {
    Add,
    Subtract,
    Multiply,
    TrueDivide,
    /// With a number as one of the operands.
    Power,
    Maximum,
    Minimum,
    Negative,
    Absolute,
    Sqrt,
    Rsqrt,
    Exp,
    Log,
    Square,
    /// Relu, Sigmoid, Tanh, Silu and the like.
    Activation(Activation),
    Softmax {
        axis: isize,
    },
    /// Over the given axes, or over all if none are given.
    Mean {
        axis: Vec<isize>,
        keepdims: bool,
    },
    Sum {
        axis: Vec<isize>,
        keepdims: bool,
    },
    Max {
        axis: Vec<isize>,
        keepdims: bool,
    },
    Min {
        axis: Vec<isize>,
        keepdims: bool,
    },
    /// To a shape with the batch; one extent may be -1 and is then what is left.
    Reshape {
        newshape: Vec<isize>,
    },
    /// The axes in a given order, or in the opposite one.
    Transpose {
        axes: Option<Vec<usize>>,
    },
    ExpandDims {
        axis: isize,
    },
    /// Without the given axes of extent 1, or without all of them.
    Squeeze {
        axis: Option<Vec<isize>>,
    },
    /// What stands in brackets behind a tensor.
    GetItem {
        key: Vec<Index>,
    },
    Concatenate {
        axis: isize,
    },
    Stack {
        axis: isize,
    },
    Matmul,
    Cast {
        dtype: ElementType,
    },
    /// Everything else.
    Named(Named),
}

impl Operation {
    /// A function of all inputs.
    pub fn of_inputs(function: Function, count: usize) -> Self {
        Self { function, operands: vec![Operand::Input; count] }
    }

    pub(super) fn kind(&self) -> &'static str {
        "operation"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let wanted = self.operands.iter().filter(|operand| **operand == Operand::Input).count();
        if wanted != inputs.len() {
            let values: Vec<ValueId> = inputs.iter().map(|input| input.value).collect();
            return Err(at.refusal(&values, format!("it takes {wanted} inputs, not {}", inputs.len())));
        }
        let mut inputs = inputs.iter().map(|input| input.value);
        let operands: Vec<Term> = self
            .operands
            .iter()
            .map(|operand| match operand {
                Operand::Scalar(number) => Ok(Term::Number(*number)),
                Operand::Constant { shape, values } => Ok(Term::Value(constant(at, shape, values)?)),
                Operand::Input => {
                    let value = inputs.next().expect("the inputs have been counted");
                    terms::as_floats(at, value).map(Term::Value)
                }
            })
            .collect::<Result<_, ShapeError>>()?;
        Ok(Signal::bare(self.function.apply(at, &operands)?))
    }
}

/// An operand while it is lowered.
#[derive(Clone, Copy, Debug)]
enum Term {
    Value(ValueId),
    Number(f32),
}

impl Term {
    fn value(self, at: &mut Context<'_>) -> Result<ValueId, ShapeError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Number(number) => at.scalar(number),
        }
    }
}

impl Function {
    fn apply(&self, at: &mut Context<'_>, operands: &[Term]) -> Result<ValueId, ShapeError> {
        match self {
            Self::Add | Self::Subtract | Self::Multiply | Self::TrueDivide => self.arithmetic(at, operands),
            Self::Power | Self::Maximum | Self::Minimum => self.arithmetic(at, operands),
            Self::Concatenate { axis } => {
                let values = values(at, operands)?;
                let joined = Concatenate { axis: *axis }
                    .lower(at, &values.into_iter().map(Signal::bare).collect::<Vec<_>>())?;
                Ok(joined.value)
            }
            Self::Stack { axis } => stack(at, operands, *axis),
            Self::Matmul => {
                let [a, b] = pair(at, operands)?;
                let (a, b) = (a.value(at)?, b.value(at)?);
                products::matmul(at, a, b)
            }
            Self::Named(named) => {
                let values = values(at, operands)?;
                named.apply(at, &values)
            }
            _ => {
                let [x] = <[Term; 1]>::try_from(operands)
                    .map_err(|_| at.refusal(&[], format!("it takes 1 operand, not {}", operands.len())))?;
                let x = x.value(at)?;
                self.of_one(at, x)
            }
        }
    }

    fn of_one(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        match self {
            Self::Negative => at.op(Unary::Negate, &[x]),
            Self::Absolute => at.op(Unary::Abs, &[x]),
            Self::Sqrt => at.op(Unary::Sqrt, &[x]),
            Self::Rsqrt => at.op(Unary::Rsqrt, &[x]),
            Self::Exp => at.op(Unary::Exp, &[x]),
            Self::Log => at.op(Unary::Log, &[x]),
            Self::Square => at.op(Unary::Square, &[x]),
            Self::Activation(activation) => activation.apply(at, x),
            Self::Softmax { axis } => Ok(Softmax { axis: *axis }.lower(at, &[Signal::bare(x)])?.value),
            Self::Mean { axis, keepdims } => reduce(at, x, Reduction::Mean, axis, *keepdims),
            Self::Sum { axis, keepdims } => reduce(at, x, Reduction::Sum, axis, *keepdims),
            Self::Max { axis, keepdims } => reduce(at, x, Reduction::Max, axis, *keepdims),
            Self::Min { axis, keepdims } => {
                let turned = at.op(Unary::Negate, &[x])?;
                let largest = reduce(at, turned, Reduction::Max, axis, *keepdims)?;
                at.op(Unary::Negate, &[largest])
            }
            Self::Reshape { newshape } => reshape(at, x, newshape),
            Self::Transpose { axes } => {
                let opposite = || (0..at.shape(x).rank()).rev().collect();
                let order = axes.clone().unwrap_or_else(opposite);
                at.transposed(x, order)
            }
            Self::ExpandDims { axis } => expand(at, x, *axis),
            Self::Squeeze { axis } => squeeze(at, x, axis.as_deref()),
            Self::GetItem { key } => index::item(at, x, key),
            Self::Cast { dtype } if at.element(x) == *dtype => Ok(x),
            Self::Cast { dtype } => at.op(Cast { to: *dtype }, &[x]),
            Self::Add | Self::Subtract | Self::Multiply | Self::TrueDivide | Self::Power => self.no_unary(at),
            Self::Maximum | Self::Minimum | Self::Concatenate { .. } | Self::Stack { .. } | Self::Matmul => {
                self.no_unary(at)
            }
            Self::Named(_) => self.no_unary(at),
        }
    }

    fn no_unary(&self, at: &Context<'_>) -> Result<ValueId, ShapeError> {
        Err(at.refusal(&[], format!("{self:?} takes more than 1 operand")))
    }
}

fn constant(at: &mut Context<'_>, shape: &[usize], values: &[f32]) -> Result<ValueId, ShapeError> {
    let count = at.product(shape)?;
    if count != values.len() {
        return Err(at.refusal(&[], format!("{} elements do not fill {shape:?}", values.len())));
    }
    terms::constant(at, shape, values.to_vec())
}

fn pair(at: &Context<'_>, operands: &[Term]) -> Result<[Term; 2], ShapeError> {
    operands.try_into().map_err(|_| at.refusal(&[], format!("it takes 2 operands, not {}", operands.len())))
}

fn values(at: &mut Context<'_>, operands: &[Term]) -> Result<Vec<ValueId>, ShapeError> {
    operands.iter().map(|operand| operand.value(at)).collect()
}
