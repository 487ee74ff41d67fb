//! A tensor that does not change, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::Constant;

impl Meaning for Constant {
    fn run(&self, _: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![self.values.iter().map(|&x| f64::from(x)).collect()]
    }
}
