//! Stretching, from its definition.

use super::binary::stretched;
use super::tensor::indices;
use super::{Meaning, Tensor};
use plimsoll_graph::op::Broadcast;

impl Meaning for Broadcast {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![indices(&self.shape).map(|index| stretched(inputs[0], &index)).collect()]
    }
}
