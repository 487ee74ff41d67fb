//! Stretching, from its definition.

use super::Tensor;
use super::binary::stretched;
use super::tensor::indices;
use plimsoll_graph::op::Broadcast;

pub(super) fn run(op: &Broadcast, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    vec![indices(&op.shape).map(|index| stretched(inputs[0], &index)).collect()]
}
