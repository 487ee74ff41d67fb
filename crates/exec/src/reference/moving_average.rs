//! Moving averages, from their definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::MovingAverage;

impl Meaning for MovingAverage {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [moving, batch, gate @ ..] = inputs else {
            unreachable!("the shape rule has checked the inputs")
        };
        if gate.first().is_some_and(|gate| gate.data[0] == 0.0) {
            return vec![moving.data.clone()];
        }
        let momentum = f64::from(self.momentum);
        let new =
            moving.data.iter().zip(&batch.data).map(|(old, new)| old * momentum + new * (1.0 - momentum));
        vec![new.collect()]
    }
}
