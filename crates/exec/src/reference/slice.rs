//! Cutting out a block, from its definition.

use super::tensor::{flat, indices};
use super::{Meaning, Tensor};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Slice;

impl Meaning for Slice {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let x = inputs[0];
        let element = |index: Vec<usize>| {
            let own: Vec<usize> = index.iter().zip(&self.start).map(|(i, start)| i + start).collect();
            x.data[flat(x.shape(), &own)]
        };
        vec![indices(&Shape::new(self.size.clone())).map(element).collect()]
    }
}
