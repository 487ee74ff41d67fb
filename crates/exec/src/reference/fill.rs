//! A constant, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::Fill;

impl Meaning for Fill {
    fn run(&self, _: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![vec![f64::from(self.value); self.shape.elements()]]
    }
}
