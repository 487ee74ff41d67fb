//! Elementwise functions of two numbers, from their definitions.

use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Binary;

impl Meaning for Binary {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [a, b] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let shape = a.shape().broadcast(b.shape()).expect("the shape rule has checked the shapes");
        let y = indices(&shape).map(|index| apply(*self, stretched(a, &index), stretched(b, &index)));
        vec![y.collect()]
    }
}

fn apply(op: Binary, a: f64, b: f64) -> f64 {
    match op {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Maximum => larger(a, b),
        Binary::Minimum => smaller(a, b),
        Binary::GreaterEqual => f64::from(a >= b),
        Binary::Less => f64::from(a < b),
        Binary::Equal => f64::from(a == b),
        Binary::NotEqual => f64::from(a != b),
        Binary::Power => a.powf(b),
        Binary::Modulo => match a % b {
            rest if rest != 0.0 && (rest < 0.0) != (b < 0.0) => rest + b,
            rest => rest,
        },
        Binary::Atan2 => a.atan2(b),
    }
}

/// The element that a tensor shows at an index of the shape it is stretched to.
pub(super) fn stretched(tensor: &Tensor, index: &[usize]) -> f64 {
    tensor.data[flat(tensor.shape(), &own_index(tensor.shape(), index))]
}

fn own_index(shape: &Shape, index: &[usize]) -> Vec<usize> {
    let skipped = index.len() - shape.rank();
    shape
        .extents()
        .iter()
        .zip(&index[skipped..])
        .map(|(&extent, &i)| if extent == 1 { 0 } else { i })
        .collect()
}

/// The larger number; as in TensorFlow, what is compared with a NaN is a NaN.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The smaller number, or NaN.
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    -larger(-a, -b)
}
