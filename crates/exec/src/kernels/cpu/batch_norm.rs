//! The CPU kernels of batch normalization.
//!
//! Statistics are taken in one pass over memory. Blocks of rows make partial statistics, which are combined in their
//! order. Inside a block, short runs of rows that stay in the first-level cache are summed in float32, and the runs in
//! float64.

use super::wide::wide;
use super::workers::rows_per_piece;
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{BatchNorm, BatchNormGradient, BatchNormInference};
use rayon::prelude::*;
use std::ops::Range;

/// So many channels are summed side by side, in registers.
const LANES: usize = 16;
/// So many rows are summed in float32.
const RUN: usize = 32;
/// At most so many blocks make partial statistics.
const BLOCKS: usize = 64;

impl CpuKernel for BatchNorm {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, gamma, beta], [y, mean, variance]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (rows, c) = (x.shape().rows(), x.shape().last());
        let block = block_rows(rows, c);
        let (partials, scale) = call.scratch.split_at_mut(blocks(rows, c) * 2 * c);
        let x = x.replaced_by().is_none().then(|| x.f32());
        let source = x.unwrap_or(y.f32());
        partials.par_chunks_mut((2 * c).max(1)).zip(source.par_chunks((block * c).max(1))).for_each(
            |(partial, x)| {
                let (mean, squares) = partial.split_at_mut(c);
                for_each_lanes(c, |lanes| {
                    let (mean, squares) = (&mut mean[lanes.clone()], &mut squares[lanes.clone()]);
                    moments(x, c, lanes, mean, squares);
                });
            },
        );
        combine_moments(partials, rows, block, mean.f32(), variance.f32());
        inverse_deviations(variance.f32(), self.epsilon, scale);
        scale.iter_mut().zip(gamma.f32()).for_each(|(scale, gamma)| *scale *= gamma);
        normalize(y.f32(), x, mean.f32(), scale, beta.f32());
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        partials(&types.inputs[0].shape) + types.inputs[0].shape.last()
    }
}

impl CpuKernel for BatchNormInference {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, gamma, beta, mean, variance], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let x = x.replaced_by().is_none().then(|| x.f32());
        let scale = call.scratch;
        inverse_deviations(variance.f32(), self.epsilon, scale);
        scale.iter_mut().zip(gamma.f32()).for_each(|(scale, gamma)| *scale *= gamma);
        normalize(y.f32(), x, mean.f32(), scale, beta.f32());
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        types.inputs[0].shape.last()
    }
}

impl CpuKernel for BatchNormGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0), (4, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, gamma, mean, variance, dy], [dx, dgamma, dbeta]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (rows, c) = (x.shape().rows(), x.shape().last());
        let piece = (block_rows(rows, c) * c).max(1);
        let (partials, rest) = call.scratch.split_at_mut(blocks(rows, c) * 2 * c);
        let (inverse, rest) = rest.split_at_mut(c);
        let (slope, offset) = rest.split_at_mut(c);
        let x = x.replaced_by().is_none().then(|| x.f32());
        let dy = dy.replaced_by().is_none().then(|| dy.f32());
        let (gamma, mean) = (gamma.f32(), mean.f32());
        let (dgamma, dbeta) = (dgamma.f32(), dbeta.f32());
        inverse_deviations(variance.f32(), self.epsilon, inverse);
        let replaced: &[f32] = dx.f32();
        let (all_x, all_dy) = (x.unwrap_or(replaced), dy.unwrap_or(replaced));
        let pieces = all_x.par_chunks(piece).zip(all_dy.par_chunks(piece));
        partials.par_chunks_mut((2 * c).max(1)).zip(pieces).for_each(|(partial, (x, dy))| {
            let (sums, products) = partial.split_at_mut(c);
            for_each_lanes(c, |lanes| {
                let (sums, products) = (&mut sums[lanes.clone()], &mut products[lanes.clone()]);
                gradient_sums(x, dy, &mean[lanes.clone()], c, lanes, sums, products);
            });
        });
        add_up(partials, dbeta, dgamma);
        let share = 1.0 / rows as f32;
        for channel in 0..c {
            dgamma[channel] *= inverse[channel];
            offset[channel] = dbeta[channel] * share;
            slope[channel] = dgamma[channel] * inverse[channel] * share;
            inverse[channel] *= gamma[channel];
        }
        let line = Line { mean, offset, slope, scale: inverse };
        let piece = (rows_per_piece(c) * c).max(1);
        dx.f32().par_chunks_mut(piece).enumerate().for_each(|(index, dx)| {
            let rows = index * piece..index * piece + dx.len();
            let (x, dy) = (x.map(|x| &x[rows.clone()]), dy.map(|dy| &dy[rows.clone()]));
            line.apply(dx, x, dy);
        });
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        partials(&types.inputs[0].shape) + 3 * types.inputs[0].shape.last()
    }
}

/// The floats of all partial statistics: two a block and channel.
fn partials(x: &Shape) -> usize {
    blocks(x.rows(), x.last()) * 2 * x.last()
}

fn block_rows(rows: usize, c: usize) -> usize {
    rows.div_ceil(BLOCKS).max(rows_per_piece(c)).next_multiple_of(RUN)
}

fn blocks(rows: usize, c: usize) -> usize {
    rows.div_ceil(block_rows(rows, c))
}

fn for_each_lanes(c: usize, mut work: impl FnMut(Range<usize>)) {
    (0..c).step_by(LANES).for_each(|first| work(first..(first + LANES).min(c)));
}

wide! {
    /// The means and the sums of squared deviations of a few channels of a block, by runs, so that nothing cancels.
    fn moments(x: &[f32], c: usize, lanes: Range<usize>, mean: &mut [f32], squares: &mut [f32]) {
        let (mut means, mut deviations) = ([0.0f64; LANES], [0.0f64; LANES]);
        let mut before = 0.0;
        for run in x.chunks(RUN * c) {
            let count = (run.len() / c) as f32;
            let mut sums = [0.0f32; LANES];
            each_row(run, c, &lanes, |_, row| {
                for lane in 0..LANES {
                    sums[lane] += row[lane];
                }
            });
            let centre = sums.map(|sum| sum / count);
            let mut run_squares = [0.0f32; LANES];
            each_row(run, c, &lanes, |_, row| {
                for lane in 0..LANES {
                    run_squares[lane] += (row[lane] - centre[lane]) * (row[lane] - centre[lane]);
                }
            });
            let count = f64::from(count);
            for lane in 0..LANES {
                let part = Moments { mean: f64::from(centre[lane]), squares: f64::from(run_squares[lane]) };
                let whole = Moments { mean: means[lane], squares: deviations[lane] }.with(before, part, count);
                (means[lane], deviations[lane]) = (whole.mean, whole.squares);
            }
            before += count;
        }
        mean.iter_mut().zip(means).for_each(|(to, mean)| *to = mean as f32);
        squares.iter_mut().zip(deviations).for_each(|(to, squares)| *to = squares as f32);
    }
}

wide! {
    /// The sums of `dy` and of `dy (x - mean)` of a few channels of a block.
    fn gradient_sums(
        x: &[f32],
        dy: &[f32],
        mean: &[f32],
        c: usize,
        lanes: Range<usize>,
        sums: &mut [f32],
        products: &mut [f32],
    ) {
        let mut centre = [0.0f32; LANES];
        centre[..mean.len()].copy_from_slice(mean);
        let (mut all_sums, mut all_products) = ([0.0f64; LANES], [0.0f64; LANES]);
        for (x, dy) in x.chunks(RUN * c).zip(dy.chunks(RUN * c)) {
            let (mut run_sums, mut run_products) = ([0.0f32; LANES], [0.0f32; LANES]);
            let mut rows = x.chunks_exact(c);
            each_row(dy, c, &lanes, |_, dy| {
                let x = &rows.next().expect("as many rows")[lanes.clone()];
                for lane in 0..LANES {
                    run_sums[lane] += dy[lane];
                }
                for (((sum, x), dy), centre) in run_products.iter_mut().zip(x).zip(dy).zip(&centre) {
                    *sum += dy * (x - centre);
                }
            });
            for lane in 0..LANES {
                all_sums[lane] += f64::from(run_sums[lane]);
                all_products[lane] += f64::from(run_products[lane]);
            }
        }
        sums.iter_mut().zip(all_sums).for_each(|(to, sum)| *to = sum as f32);
        products.iter_mut().zip(all_products).for_each(|(to, sum)| *to = sum as f32);
    }
}

/// Visits some channels of each row; those that a short block lacks are 0.
#[inline(always)]
fn each_row(x: &[f32], c: usize, lanes: &Range<usize>, mut visit: impl FnMut(usize, [f32; LANES])) {
    for (index, row) in x.chunks_exact(c).enumerate() {
        let channels = &row[lanes.clone()];
        let row = <[f32; LANES]>::try_from(channels).unwrap_or_else(|_| {
            let mut row = [0.0; LANES];
            row[..channels.len()].copy_from_slice(channels);
            row
        });
        visit(index, row);
    }
}

/// Mean and sum of squared deviations of some numbers.
#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Those of two sets of numbers together (Chan, Golub and LeVeque 1979, equation 2.1).
    fn with(self, count: f64, other: Moments, other_count: f64) -> Moments {
        let total = count + other_count;
        let delta = other.mean - self.mean;
        Moments {
            mean: self.mean + delta * other_count / total,
            squares: self.squares + other.squares + delta * delta * count * other_count / total,
        }
    }
}

fn combine_moments(partials: &[f32], rows: usize, block: usize, mean: &mut [f32], variance: &mut [f32]) {
    let c = mean.len();
    for channel in 0..c {
        let mut all = Moments { mean: 0.0, squares: 0.0 };
        for (index, partial) in partials.chunks_exact(2 * c).enumerate() {
            let before = index * block;
            let count = block.min(rows - before);
            let (mean, squares) = (f64::from(partial[channel]), f64::from(partial[c + channel]));
            all = all.with(before as f64, Moments { mean, squares }, count as f64);
        }
        mean[channel] = all.mean as f32;
        variance[channel] = (all.squares / rows as f64) as f32;
    }
}

/// Adds up partial sums, a pair of vectors a block, in the order of the blocks.
pub(super) fn add_up(partials: &[f32], first: &mut [f32], second: &mut [f32]) {
    let c = first.len();
    for channel in 0..c {
        let total =
            |at: usize| partials.chunks_exact(2 * c).map(|partial| f64::from(partial[at])).sum::<f64>();
        first[channel] = total(channel) as f32;
        second[channel] = total(c + channel) as f32;
    }
}

fn inverse_deviations(variance: &[f32], epsilon: f32, to: &mut [f32]) {
    to.iter_mut().zip(variance).for_each(|(to, variance)| *to = 1.0 / (variance + epsilon).sqrt());
}

/// `y = (x - mean) scale + beta`; without an `x`, it is in `y`.
fn normalize(y: &mut [f32], x: Option<&[f32]>, mean: &[f32], scale: &[f32], beta: &[f32]) {
    let c = mean.len();
    let piece = (rows_per_piece(c) * c).max(1);
    y.par_chunks_mut(piece).enumerate().for_each(|(index, y)| {
        let x = x.map(|x| &x[index * piece..][..y.len()]);
        normalize_rows(y, x, mean, scale, beta);
    });
}

wide! {
    fn normalize_rows(y: &mut [f32], x: Option<&[f32]>, mean: &[f32], scale: &[f32], beta: &[f32]) {
        let c = mean.len();
        for (row, y) in y.chunks_exact_mut(c).enumerate() {
            if let Some(x) = x {
                y.copy_from_slice(&x[row * c..][..c]);
            }
            // The difference first: where mean and deviation are far apart, two large products would cancel.
            for (((y, mean), scale), beta) in y.iter_mut().zip(mean).zip(scale).zip(beta) {
                *y = (*y - mean) * scale + beta;
            }
        }
    }
}

/// `dx = scale (dy - offset - (x - mean) slope)`, for each channel.
struct Line<'a> {
    mean: &'a [f32],
    offset: &'a [f32],
    slope: &'a [f32],
    scale: &'a [f32],
}

impl Line<'_> {
    /// Some rows; what is not given is in `dx`.
    fn apply(&self, dx: &mut [f32], x: Option<&[f32]>, dy: Option<&[f32]>) {
        let c = self.mean.len();
        for (row, dx) in dx.chunks_exact_mut(c).enumerate() {
            match (x, dy) {
                (Some(x), dy) => {
                    if let Some(dy) = dy {
                        dx.copy_from_slice(&dy[row * c..][..c]);
                    }
                    self.apply_over_dy(dx, &x[row * c..][..c]);
                }
                (None, Some(dy)) => self.apply_over_x(dx, &dy[row * c..][..c]),
                (None, None) => unreachable!("one result takes the place of one input"),
            }
        }
    }

    fn apply_over_dy(&self, dx: &mut [f32], x: &[f32]) {
        let vectors = self.mean.iter().zip(self.offset).zip(self.slope).zip(self.scale);
        for ((dx, x), (((mean, offset), slope), scale)) in dx.iter_mut().zip(x).zip(vectors) {
            *dx = scale * (*dx - offset - (x - mean) * slope);
        }
    }

    fn apply_over_x(&self, dx: &mut [f32], dy: &[f32]) {
        let vectors = self.mean.iter().zip(self.offset).zip(self.slope).zip(self.scale);
        for ((dx, dy), (((mean, offset), slope), scale)) in dx.iter_mut().zip(dy).zip(vectors) {
            *dx = scale * (dy - offset - (*dx - mean) * slope);
        }
    }
}
