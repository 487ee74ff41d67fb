//! Moving averages, from their definition.

use super::Tensor;
use plimsoll_graph::op::MovingAverage;

pub(super) fn run(op: &MovingAverage, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    let [moving, batch, gate @ ..] = inputs else { unreachable!("the shape rule has checked the inputs") };
    if gate.first().is_some_and(|gate| gate.data[0] == 0.0) {
        return vec![moving.data.clone()];
    }
    let momentum = f64::from(op.momentum);
    let new = moving.data.iter().zip(&batch.data).map(|(old, new)| old * momentum + new * (1.0 - momentum));
    vec![new.collect()]
}
