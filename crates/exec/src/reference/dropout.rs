//! Dropout, from its definition.

use super::{Meaning, Tensor};
use crate::philox::{block, unit};
use plimsoll_graph::op::Dropout;

impl Meaning for Dropout {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, step] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let step = step.data[0] as i32 as u64;
        let kept = |i: usize| unit(block(self.seed, step, i as u64 / 4)[i % 4]) >= self.rate;
        let scale = 1.0 / (1.0 - f64::from(self.rate));
        let y = x.data.iter().enumerate().map(|(i, x)| if kept(i) { x * scale } else { 0.0 });
        vec![y.collect()]
    }
}
