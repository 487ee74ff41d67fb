//! The CPU kernel of matrix products.

use super::gemm::{Accumulate, Matrix, MatrixMut, parallel_gemm};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::MatMul;
use rayon::prelude::*;

impl CpuKernel for MatMul {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([a, b], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let shared = b.shape().rank() < a.shape().rank();
        let rank = y.shape().rank();
        let n = y.shape().last();
        // One matrix `b` sees all the rows of a batch of `a` as one matrix.
        let m = if shared { y.shape().rows() } else { y.shape()[rank - 2] };
        let k = if self.transpose_b { b.shape().last() } else { b.shape()[b.shape().rank() - 2] };
        let (a, b) = (a.f32(), b.f32());
        y.f32().par_chunks_mut((m * n).max(1)).enumerate().for_each(|(index, y)| {
            let a = oriented(&a[index * m * k..][..m * k], m, k, self.transpose_a);
            let b = oriented(&b[index * k * n..][..k * n], k, n, self.transpose_b);
            parallel_gemm(a, b, MatrixMut::new(y, m, n), Accumulate::No);
        });
        Ok(())
    }
}

/// A matrix of so many rows and columns that may be stored with rows as columns.
fn oriented(data: &[f32], rows: usize, columns: usize, transposed: bool) -> Matrix<'_> {
    match transposed {
        false => Matrix::new(data, rows, columns),
        true => Matrix::new(data, columns, rows).transposed(),
    }
}
