//! Sums and products up to an element, from their definition: each for itself.

use super::{Meaning, Tensor};
use plimsoll_graph::op::Cumulate;

impl Meaning for Cumulate {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let rows = inputs[0].data.chunks_exact(inputs[0].shape().last());
        let y = rows.flat_map(|row| (0..row.len()).map(|at| self.of(row, at)).collect::<Vec<_>>());
        vec![y.collect()]
    }
}

trait Upto {
    fn of(&self, row: &[f64], at: usize) -> f64;
}

impl Upto for Cumulate {
    fn of(&self, row: &[f64], at: usize) -> f64 {
        let part = match (self.reverse, self.exclusive) {
            (false, false) => &row[..=at],
            (false, true) => &row[..at],
            (true, false) => &row[at..],
            (true, true) => &row[at + 1..],
        };
        if self.product { part.iter().product() } else { part.iter().sum::<f64>() + 0.0 }
    }
}
