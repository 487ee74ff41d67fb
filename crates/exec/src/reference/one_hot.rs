//! Classes as vectors, from their definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::OneHot;

impl Meaning for OneHot {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let vector = |&id: &f64| (0..self.depth).map(move |place| f64::from(id == place as f64));
        vec![inputs[0].data.iter().flat_map(vector).collect()]
    }
}
