//! Random numbers of the normal distribution, from their definition.

use super::Tensor;
use crate::philox::{block, normal};
use plimsoll_graph::op::RandomNormal;

pub(super) fn run(op: &RandomNormal, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
    let [step] = inputs else { unreachable!("the shape rule has checked the inputs") };
    let step = step.data[0] as i32 as u64;
    let element = |i: usize| {
        let words = block(op.seed, step, i as u64 / 2);
        f64::from(op.deviation) * normal(words[2 * (i % 2)], words[2 * (i % 2) + 1])
    };
    vec![(0..op.shape.elements()).map(element).collect()]
}
