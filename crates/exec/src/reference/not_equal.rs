//! The mask of positions that are not padding, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::NotEqual;

impl Meaning for NotEqual {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![inputs[0].data.iter().map(|&id| f64::from(id != f64::from(self.value))).collect()]
    }
}
