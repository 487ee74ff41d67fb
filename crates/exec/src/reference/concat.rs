//! Joining, from its definition.

use super::Tensor;
use super::tensor::{flat, indices};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Concat;

pub(super) fn run(op: &Concat, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    let mut extents = inputs[0].shape().extents().to_vec();
    extents[op.axis] = inputs.iter().map(|input| input.shape()[op.axis]).sum();
    let element = |mut index: Vec<usize>| {
        for input in inputs {
            let extent = input.shape()[op.axis];
            if index[op.axis] < extent {
                return input.data[flat(input.shape(), &index)];
            }
            index[op.axis] -= extent;
        }
        unreachable!("the extents add up")
    };
    vec![indices(&Shape::new(extents)).map(element).collect()]
}
