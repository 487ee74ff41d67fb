//! Adding a bias, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::BiasAdd;

impl Meaning for BiasAdd {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, bias] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let y = x.data.iter().enumerate().map(|(i, x)| x + bias.data[i % bias.data.len()]);
        vec![y.collect()]
    }
}
