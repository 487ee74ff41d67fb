//! Arithmetic on tensors outside of layers.

use crate::Case;
use plimsoll_model::layer::{Activation, Function, Index, Operand, Operation};
use plimsoll_model::{Builder, NodeRef};

const ALL: Index = Index::Range { start: None, stop: None, step: None };

fn range(start: isize, stop: isize) -> Index {
    Index::Range { start: Some(start), stop: Some(stop), step: None }
}

fn of(net: &mut Builder, function: Function, inputs: &[NodeRef]) -> NodeRef {
    net.push(Operation::of_inputs(function, inputs.len()), inputs)
}

/// A tensor, then a number.
fn by(net: &mut Builder, function: Function, x: NodeRef, number: f32) -> NodeRef {
    net.push(Operation { function, operands: vec![Operand::Input, Operand::Scalar(number)] }, &[x])
}

/// A number, then a tensor.
fn from(net: &mut Builder, function: Function, number: f32, x: NodeRef) -> NodeRef {
    net.push(Operation { function, operands: vec![Operand::Scalar(number), Operand::Input] }, &[x])
}

fn item(net: &mut Builder, x: NodeRef, key: &[Index]) -> NodeRef {
    of(net, Function::GetItem { key: key.to_vec() }, &[x])
}

pub const CASES: &[Case] = &[
    ("op_arithmetic", |net, x| {
        let (a, b) = (x[0], x[1]);
        let tripled = by(net, Function::Multiply, a, 3.0);
        let rest = from(net, Function::Subtract, 2.0, tripled);
        let above = of(net, Function::Add, &[rest, b]);
        let square = of(net, Function::Square, &[b]);
        let below = by(net, Function::Add, square, 1.5);
        let quotient = of(net, Function::TrueDivide, &[above, below]);
        by(net, Function::Subtract, quotient, 1.0)
    }),
    ("op_power", |net, x| {
        let exp = of(net, Function::Exp, x);
        let power = by(net, Function::Power, exp, 1.5);
        let of_two = from(net, Function::Power, 2.0, x[0]);
        of(net, Function::Add, &[power, of_two])
    }),
    ("op_divide_number", |net, x| {
        let size = of(net, Function::Absolute, x);
        let size = by(net, Function::Add, size, 1.0);
        let inverse = from(net, Function::TrueDivide, 1.0, size);
        let quarter = by(net, Function::TrueDivide, x[0], 4.0);
        of(net, Function::Add, &[inverse, quarter])
    }),
    ("op_roots", |net, x| {
        let square = of(net, Function::Square, x);
        let shifted = by(net, Function::Add, square, 1.0);
        let root = of(net, Function::Sqrt, &[shifted]);
        let log = of(net, Function::Log, &[root]);
        let turned = of(net, Function::Negative, x);
        let exp = of(net, Function::Exp, &[turned]);
        let inverse = of(net, Function::Rsqrt, &[exp]);
        of(net, Function::Subtract, &[log, inverse])
    }),
    ("op_extremes", |net, x| {
        let above = by(net, Function::Maximum, x[0], 0.25);
        let smaller = of(net, Function::Minimum, x);
        let below = by(net, Function::Minimum, x[1], 0.5);
        let sum = of(net, Function::Add, &[above, smaller]);
        of(net, Function::Add, &[sum, below])
    }),
    ("op_mean", |net, x| {
        let mean = of(net, Function::Mean { axis: vec![-1], keepdims: true }, x);
        let sum = of(net, Function::Sum { axis: vec![1], keepdims: true }, x);
        of(net, Function::Multiply, &[mean, sum])
    }),
    ("op_max", |net, x| {
        let max = of(net, Function::Max { axis: vec![1, 2], keepdims: true }, x);
        let min = of(net, Function::Min { axis: vec![1], keepdims: true }, x);
        of(net, Function::Subtract, &[max, min])
    }),
    ("op_get_item", |net, x| {
        let last = item(net, x[0], &[ALL, Index::At(-1)]);
        let inner = item(net, x[0], &[ALL, range(1, -1)]);
        let first = item(net, inner, &[ALL, Index::At(0)]);
        let column = item(net, x[0], &[Index::Ellipsis, range(0, 1)]);
        let third = item(net, column, &[ALL, Index::At(2)]);
        let product = of(net, Function::Multiply, &[last, first]);
        of(net, Function::Add, &[product, third])
    }),
    ("op_new_axis", |net, x| {
        let from_one = Index::Range { start: Some(1), stop: None, step: Some(1) };
        let a = item(net, x[0], &[ALL, Index::NewAxis, from_one]);
        let b = of(net, Function::ExpandDims { axis: -1 }, x);
        let b = item(net, b, &[ALL, ALL, range(1, 2), ALL]);
        of(net, Function::Multiply, &[a, b])
    }),
    ("op_shapes", |net, x| {
        let turned = of(net, Function::Transpose { axes: Some(vec![0, 2, 1]) }, x);
        let same = of(net, Function::Reshape { newshape: vec![-1, 3, 4] }, x);
        of(net, Function::Matmul, &[turned, same])
    }),
    ("op_squeeze", |net, x| {
        let a = of(net, Function::Squeeze { axis: Some(vec![1]) }, x);
        let b = item(net, x[0], &[ALL, Index::At(0)]);
        let b = by(net, Function::Multiply, b, 2.0);
        of(net, Function::Concatenate { axis: -1 }, &[a, b])
    }),
    ("op_stack", |net, x| {
        let stacked = of(net, Function::Stack { axis: 1 }, x);
        of(net, Function::Softmax { axis: 1 }, &[stacked])
    }),
    ("op_activations", |net, x| {
        let [relu, sigmoid, tanh, silu] = ["relu", "sigmoid", "tanh", "silu"]
            .map(|name| of(net, Function::Activation(Activation::parse(name).unwrap()), x));
        let product = of(net, Function::Multiply, &[sigmoid, tanh]);
        let sum = of(net, Function::Add, &[relu, product]);
        of(net, Function::Add, &[sum, silu])
    }),
];
