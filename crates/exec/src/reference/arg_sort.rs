//! The order of elements, from its definition: an element stands behind as many as come before it.

use super::{Meaning, Tensor};
use plimsoll_graph::op::ArgSort;

impl Meaning for ArgSort {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let mut y = Vec::with_capacity(inputs[0].data.len());
        for row in inputs[0].data.chunks_exact(inputs[0].shape().last()) {
            let mut order = vec![0.0; row.len()];
            for at in 0..row.len() {
                let place = (0..row.len()).filter(|&other| before(self.descending, row, other, at)).count();
                order[place] = at as f64;
            }
            y.extend(order);
        }
        vec![y]
    }
}

/// Whether the first of two positions comes before the second.
fn before(descending: bool, row: &[f64], first: usize, second: usize) -> bool {
    let (a, b) = (row[first], row[second]);
    let smaller = if descending { a > b } else { a < b };
    let same = a == b || (a.is_nan() && b.is_nan());
    smaller || (b.is_nan() && !a.is_nan()) || (same && first < second)
}
