//! A constant, from its definition.

use super::Tensor;
use plimsoll_graph::op::Fill;

pub(super) fn run(op: &Fill, _inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    vec![vec![f64::from(op.value); op.shape.elements()]]
}
