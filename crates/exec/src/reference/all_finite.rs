//! Whether everything is a number, from the definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::AllFinite;

impl Meaning for AllFinite {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let finite = inputs.iter().all(|input| input.data.iter().all(|x| x.is_finite()));
        vec![vec![f64::from(u8::from(finite))]]
    }
}
