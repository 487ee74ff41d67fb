//! Cutting out a block, from its definition.

use super::Tensor;
use super::tensor::{flat, indices};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Slice;

pub(super) fn run(op: &Slice, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    let x = inputs[0];
    let element = |index: Vec<usize>| {
        let own: Vec<usize> = index.iter().zip(&op.start).map(|(i, start)| i + start).collect();
        x.data[flat(x.shape(), &own)]
    };
    vec![indices(&Shape::new(op.size.clone())).map(element).collect()]
}
