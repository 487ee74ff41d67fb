//! Reordering axes, from its definition.

use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Transpose;

impl Meaning for Transpose {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let x = inputs[0];
        let extents: Vec<usize> = self.order.iter().map(|&axis| x.shape()[axis]).collect();
        let element = |index: Vec<usize>| {
            let mut own = vec![0; index.len()];
            self.order.iter().zip(index).for_each(|(&axis, i)| own[axis] = i);
            x.data[flat(x.shape(), &own)]
        };
        vec![indices(&Shape::new(extents)).map(element).collect()]
    }
}
