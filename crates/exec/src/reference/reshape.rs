//! The same elements under another shape.

use super::Tensor;
use plimsoll_graph::op::Reshape;

pub(super) fn run(_op: &Reshape, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    vec![inputs[0].data.clone()]
}
