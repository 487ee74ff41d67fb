//! Softmax and its logarithm, from their definitions.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{LogSoftmax, LogSoftmaxGradient, Softmax, SoftmaxGradient};

impl Meaning for Softmax {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![rows(inputs[0]).flat_map(softmax).collect()]
    }
}

impl Meaning for SoftmaxGradient {
    /// `dx_i = sum over j of y_j (d_ij - y_i) dy_j`
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let dx = rows(inputs[0]).zip(rows(inputs[1])).flat_map(|(y, dy)| {
            let slope = |i: usize, j: usize| y[j] * (f64::from(u8::from(i == j)) - y[i]);
            (0..y.len()).map(move |i| (0..y.len()).map(|j| slope(i, j) * dy[j]).sum())
        });
        vec![dx.collect()]
    }
}

impl Meaning for LogSoftmax {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        vec![rows(inputs[0]).flat_map(log_softmax).collect()]
    }
}

impl Meaning for LogSoftmaxGradient {
    /// `dx_i = sum over j of (d_ij - e^y_i) dy_j`
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let dx = rows(inputs[0]).zip(rows(inputs[1])).flat_map(|(y, dy)| {
            let slope = |i: usize, j: usize| f64::from(u8::from(i == j)) - y[i].exp();
            (0..y.len()).map(move |i| (0..y.len()).map(|j| slope(i, j) * dy[j]).sum())
        });
        vec![dx.collect()]
    }
}

pub(super) fn softmax(row: &[f64]) -> Vec<f64> {
    log_softmax(row).into_iter().map(f64::exp).collect()
}

/// The largest element is taken out first, so that no exponential overflows.
pub(super) fn log_softmax(row: &[f64]) -> Vec<f64> {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log_sum = row.iter().map(|x| (x - largest).exp()).sum::<f64>().ln();
    row.iter().map(|x| x - largest - log_sum).collect()
}

fn rows(tensor: &Tensor) -> impl Iterator<Item = &[f64]> {
    tensor.data.chunks_exact(tensor.shape().last())
}
