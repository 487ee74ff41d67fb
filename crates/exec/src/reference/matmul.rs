//! Matrix products, from their definition.

use super::{Meaning, Tensor};
use plimsoll_graph::op::MatMul;

impl Meaning for MatMul {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [a, b] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let (a_rows, a_columns) = matrix_extents(a);
        let (b_rows, b_columns) = matrix_extents(b);
        let (m, k) = if self.transpose_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
        let n = if self.transpose_b { b_rows } else { b_columns };
        let batch = a.shape().extents().iter().rev().skip(2).product();
        let shared = b.shape().rank() < a.shape().rank();
        let mut y = Vec::new();
        for matrix in 0..batch {
            let a = &a.data[matrix * m * k..][..m * k];
            let b = &b.data[if shared { 0 } else { matrix * k * n }..][..k * n];
            for i in 0..m {
                for j in 0..n {
                    let left = |l: usize| if self.transpose_a { a[l * m + i] } else { a[i * k + l] };
                    let right = |l: usize| if self.transpose_b { b[j * k + l] } else { b[l * n + j] };
                    y.push((0..k).map(|l| left(l) * right(l)).sum());
                }
            }
        }
        vec![y]
    }
}

fn matrix_extents(tensor: &Tensor) -> (usize, usize) {
    let shape = tensor.shape();
    (shape[shape.rank() - 2], shape.last())
}
