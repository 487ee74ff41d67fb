//! Random numbers of the normal distribution, from their definition.

use super::{Meaning, Tensor};
use crate::philox::{block, normal};
use plimsoll_graph::op::RandomNormal;

impl Meaning for RandomNormal {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [step] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let step = step.data[0] as i32 as u64;
        let element = |i: usize| {
            let words = block(self.seed, step, i as u64 / 2);
            f64::from(self.deviation) * normal(words[2 * (i % 2)], words[2 * (i % 2) + 1])
        };
        vec![(0..self.shape.elements()).map(element).collect()]
    }
}
