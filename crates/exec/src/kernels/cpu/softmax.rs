//! The CPU kernels of softmax, of its logarithm, and of their gradients: a row at a time.

use super::elementwise::{Side, by_rows, combine, largest, sum, sum_pairs};
use super::exponential::exp;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{LogSoftmax, LogSoftmaxGradient, Softmax, SoftmaxGradient};

impl CpuKernel for Softmax {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        map_rows(call, |x, y| {
            let largest = largest(x.elements(y));
            combine(y, x, Side::Same(largest), |x, largest| exp(x - largest));
            let scale = 1.0 / sum(y, |e| e);
            y.iter_mut().for_each(|y| *y *= scale);
        });
        Ok(())
    }
}

impl CpuKernel for SoftmaxGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (1, 0)];

    /// `dx = y (dy - sum(y dy))`
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        map_row_pairs(call, |y, dy, dx| {
            let common = sum_pairs(y.elements(dx), dy.elements(dx), |y, dy| y * dy);
            combine(dx, y, dy, |y, dy| y * (dy - common));
        });
        Ok(())
    }
}

impl CpuKernel for LogSoftmax {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        map_rows(call, |x, y| {
            let largest = largest(x.elements(y));
            let log_sum = sum(x.elements(y), |x| exp(x - largest)).ln();
            combine(y, x, Side::Same(largest), |x, largest| (x - largest) - log_sum);
        });
        Ok(())
    }
}

impl CpuKernel for LogSoftmaxGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (1, 0)];

    /// `dx = dy - e^y sum(dy)`
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        map_row_pairs(call, |y, dy, dx| {
            let total = sum(dy.elements(dx), |dy| dy);
            combine(dx, y, dy, |y, dy| dy - exp(y) * total);
        });
        Ok(())
    }
}

fn map_rows(call: Call<'_>, work: impl Fn(Side<'_>, &mut [f32]) + Sync) {
    let ([x], [y]) = (call.inputs, call.outputs) else {
        unreachable!("the shape rule has checked the inputs")
    };
    let (width, x) = (x.shape().last(), Side::of(x));
    by_rows(y, width, |start, y| work(x.cut(start, width), y));
}

fn map_row_pairs(call: Call<'_>, work: impl Fn(Side<'_>, Side<'_>, &mut [f32]) + Sync) {
    let ([a, b], [y]) = (call.inputs, call.outputs) else {
        unreachable!("the shape rule has checked the inputs")
    };
    let (width, a, b) = (a.shape().last(), Side::of(a), Side::of(b));
    by_rows(y, width, |start, y| work(a.cut(start, width), b.cut(start, width), y));
}
