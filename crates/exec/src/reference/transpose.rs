//! Reordering axes, from its definition.

use super::Tensor;
use super::tensor::{flat, indices};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Transpose;

pub(super) fn run(op: &Transpose, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    let x = inputs[0];
    let extents: Vec<usize> = op.order.iter().map(|&axis| x.shape()[axis]).collect();
    let element = |index: Vec<usize>| {
        let mut own = vec![0; index.len()];
        op.order.iter().zip(index).for_each(|(&axis, i)| own[axis] = i);
        x.data[flat(x.shape(), &own)]
    };
    vec![indices(&Shape::new(extents)).map(element).collect()]
}
