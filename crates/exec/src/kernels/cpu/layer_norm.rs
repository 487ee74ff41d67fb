//! The CPU kernels of layer normalization, row by row.

use super::batch_norm::add_up;
use super::workers::rows_per_piece;
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{LayerNorm, LayerNormGradient};
use rayon::prelude::*;

/// So many elements are summed side by side.
const LANES: usize = 16;
/// At most so many blocks of rows make partial sums.
const BLOCKS: usize = 64;

impl CpuKernel for LayerNorm {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, gamma, beta], [y, mean, inverse]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let c = x.shape().last();
        let x = x.replaced_by().is_none().then(|| x.f32());
        let (gamma, beta) = (gamma.f32(), beta.f32());
        let block = rows_per_piece(c);
        let statistics = mean.f32().par_chunks_mut(block).zip(inverse.f32().par_chunks_mut(block));
        let blocks = y.f32().par_chunks_mut((block * c).max(1)).zip(statistics).enumerate();
        blocks.for_each(|(index, (y, (means, inverses)))| {
            let statistics = means.iter_mut().zip(inverses);
            for (row, (y, (mean, inverse))) in y.chunks_exact_mut(c).zip(statistics).enumerate() {
                if let Some(x) = x {
                    y.copy_from_slice(&x[(index * block + row) * c..][..c]);
                }
                (*mean, *inverse) = normalize(y, gamma, beta, self.epsilon);
            }
        });
        Ok(())
    }
}

/// Normalizes a row in place and gives its mean and inverse deviation.
fn normalize(row: &mut [f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> (f32, f32) {
    let share = 1.0 / row.len() as f32;
    let mean = sum(row.len(), |i| row[i]) * share;
    let variance = sum(row.len(), |i| (row[i] - mean) * (row[i] - mean)) * share;
    let inverse = 1.0 / (variance + epsilon).sqrt();
    for ((x, gamma), beta) in row.iter_mut().zip(gamma).zip(beta) {
        *x = (*x - mean) * inverse * gamma + beta;
    }
    (mean, inverse)
}

impl CpuKernel for LayerNormGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (4, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, gamma, mean, inverse, dy], [dx, dgamma, dbeta]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (rows, c) = (x.shape().rows(), x.shape().last());
        let x = x.replaced_by().is_none().then(|| x.f32());
        let dy = dy.replaced_by().is_none().then(|| dy.f32());
        let (gamma, means, inverses) = (gamma.f32(), mean.f32(), inverse.f32());
        let block = block_rows(rows, c);
        let (partials, copies) = call.scratch.split_at_mut(blocks(rows, c) * 2 * c);
        let buffers = partials.par_chunks_mut((2 * c).max(1)).zip(copies.par_chunks_mut(c.max(1)));
        let blocks = dx.f32().par_chunks_mut((block * c).max(1)).zip(buffers).enumerate();
        blocks.for_each(|(index, (dx, (partial, copy)))| {
            partial.fill(0.0);
            for (row, dx) in dx.chunks_exact_mut(c).enumerate() {
                let row = index * block + row;
                let dy = dy.map(|dy| &dy[row * c..][..c]);
                let x = x.map(|x| &x[row * c..][..c]);
                // The input whose place `dx` takes is set aside first.
                if x.is_none() || dy.is_none() {
                    copy.copy_from_slice(dx);
                }
                let (x, dy) = (x.unwrap_or(copy), dy.unwrap_or(copy));
                gradient_row(dx, x, dy, gamma, [means[row], inverses[row]], partial);
            }
        });
        add_up(partials, dgamma.f32(), dbeta.f32());
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let x: &Shape = &types.inputs[0].shape;
        blocks(x.rows(), x.last()) * 3 * x.last()
    }
}

fn block_rows(rows: usize, c: usize) -> usize {
    rows.div_ceil(BLOCKS).max(rows_per_piece(c))
}

fn blocks(rows: usize, c: usize) -> usize {
    rows.div_ceil(block_rows(rows, c))
}

/// One row of the gradient; its share in the gradients of gamma and beta is added to the partial sums.
fn gradient_row(
    dx: &mut [f32],
    x: &[f32],
    dy: &[f32],
    gamma: &[f32],
    [mean, inverse]: [f32; 2],
    partial: &mut [f32],
) {
    let c = dx.len();
    let share = 1.0 / c as f32;
    let (dgamma, dbeta) = partial.split_at_mut(c);
    for i in 0..c {
        dgamma[i] += dy[i] * ((x[i] - mean) * inverse);
        dbeta[i] += dy[i];
    }
    let scaled_mean = sum(c, |i| dy[i] * gamma[i]) * share;
    let along = sum(c, |i| dy[i] * gamma[i] * (x[i] - mean)) * inverse * share;
    for i in 0..c {
        dx[i] = inverse * (dy[i] * gamma[i] - scaled_mean - (x[i] - mean) * inverse * along);
    }
}

/// The sum of `term(0..count)`, with so many sums side by side that the compiler uses vectors.
#[inline(always)]
fn sum(count: usize, term: impl Fn(usize) -> f32) -> f32 {
    let mut sums = [0.0f32; LANES];
    let whole = count / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += term(first + lane);
        }
    }
    let rest: f32 = (whole..count).map(term).sum();
    sums.iter().sum::<f32>() + rest
}
