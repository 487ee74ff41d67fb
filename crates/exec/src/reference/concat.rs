//! Joining, from its definition.

use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Concat;

impl Meaning for Concat {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let mut extents = inputs[0].shape().extents().to_vec();
        extents[self.axis] = inputs.iter().map(|input| input.shape()[self.axis]).sum();
        let element = |mut index: Vec<usize>| {
            for input in inputs {
                let extent = input.shape()[self.axis];
                if index[self.axis] < extent {
                    return input.data[flat(input.shape(), &index)];
                }
                index[self.axis] -= extent;
            }
            unreachable!("the extents add up")
        };
        vec![indices(&Shape::new(extents)).map(element).collect()]
    }
}
