//! Choosing between two tensors, from its definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::Select;

impl Meaning for Select {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let count = inputs.iter().map(|input| input.data.len()).max().unwrap_or(0);
        let element = |side: &Tensor, at: usize| side.data[if side.data.len() == 1 { 0 } else { at }];
        let chosen = |at: usize| if element(inputs[0], at) == 0.0 { inputs[2] } else { inputs[1] };
        vec![(0..count).map(|at| element(chosen(at), at)).collect()]
    }
}
