//! Random numbers of the uniform distribution, from their definition.

use super::{Meaning, Tensor};
use crate::philox::{block, unit};
use plimsoll_graph::op::RandomUniform;

impl Meaning for RandomUniform {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [step] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let step = step.data[0] as i32 as u64;
        let element = |i: usize| f64::from(unit(block(self.seed, step, i as u64 / 4)[i % 4]));
        vec![(0..self.shape.elements()).map(element).collect()]
    }
}
