//! The mask of positions that are not padding, from its definition.

use super::Tensor;
use plimsoll_graph::op::NotEqual;

pub(super) fn run(op: &NotEqual, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    vec![inputs[0].data.iter().map(|&id| f64::from(id != f64::from(op.value))).collect()]
}
