//! The same elements under another shape.

use super::{Meaning, Tensor};
use plimsoll_graph::op::Reshape;

impl Meaning for Reshape {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![inputs[0].data.clone()]
    }
}
