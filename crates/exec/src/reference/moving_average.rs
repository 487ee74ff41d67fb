//! Moving averages, from their definition.

use super::Tensor;
use plimsoll_graph::op::MovingAverage;

pub(super) fn run(op: &MovingAverage, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    let [moving, batch] = inputs else { unreachable!("the shape rule has checked the inputs") };
    let momentum = f64::from(op.momentum);
    let new = moving.data.iter().zip(&batch.data).map(|(old, new)| old * momentum + new * (1.0 - momentum));
    vec![new.collect()]
}
