//! The loops that elementwise kernels share, each with its in-place variants.

use super::{Call, KernelError};
use crate::kernels::{Input, Output};
use rayon::prelude::*;

/// About this many elements make a piece of work worth a thread.
pub(super) const PIECE: usize = 1 << 14;

/// Independent partial results of a long run, so that the compiler can use vectors and rounding errors stay small.
const LANES: usize = 16;

/// Where the elements of one operand are.
#[derive(Clone, Copy)]
pub(super) enum Side<'a> {
    /// In the output, whose storage took its place.
    Here,
    /// Side by side.
    Run(&'a [f32]),
    /// One number for all.
    Same(f32),
}

impl<'a> Side<'a> {
    /// All elements of an input.
    pub(super) fn of(input: &'a Input) -> Self {
        match input.replaced_by() {
            Some(_) => Self::Here,
            None => Self::Run(input.f32()),
        }
    }

    /// So many elements from a start on.
    pub(super) fn cut(self, start: usize, length: usize) -> Self {
        match self {
            Self::Run(elements) => Self::Run(&elements[start..start + length]),
            Self::Here | Self::Same(_) => self,
        }
    }

    /// The elements, given the output.
    pub(super) fn elements(self, output: &'a [f32]) -> &'a [f32] {
        match self {
            Self::Here => output,
            Self::Run(elements) => elements,
            Self::Same(_) => unreachable!("only a stretched operand is one number for all"),
        }
    }
}

/// `y = f(x)`.
pub(super) fn map(call: Call<'_>, f: impl Fn(f32) -> f32 + Sync) -> Result<(), KernelError> {
    let ([x], [y]) = (call.inputs, call.outputs) else {
        unreachable!("the shape rule has checked the inputs")
    };
    // The second side is never looked at, and the compiler sees that.
    let x = Side::of(x);
    by_pieces(y, |start, y| combine(y, x.cut(start, y.len()), Side::Same(0.0), |x, _| f(x)));
    Ok(())
}

/// `y = f(a, b)` for two operands of as many elements as the result.
pub(super) fn map_pair(call: Call<'_>, f: impl Fn(f32, f32) -> f32 + Sync) -> Result<(), KernelError> {
    let ([a, b], [y]) = (call.inputs, call.outputs) else {
        unreachable!("the shape rule has checked the inputs")
    };
    let (a, b) = (Side::of(a), Side::of(b));
    by_pieces(y, |start, y| combine(y, a.cut(start, y.len()), b.cut(start, y.len()), &f));
    Ok(())
}

/// Runs `work` on pieces of the output, each with the position of its first element.
pub(super) fn by_pieces(y: &mut Output, work: impl Fn(usize, &mut [f32]) + Sync) {
    y.f32().par_chunks_mut(PIECE).enumerate().for_each(|(piece, y)| work(piece * PIECE, y));
}

/// Runs `work` on the rows of the output, each with the position of its first element.
pub(super) fn by_rows(y: &mut Output, width: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let rows = y.f32().par_chunks_mut(width).with_min_len(PIECE.div_ceil(width));
    rows.enumerate().for_each(|(row, y)| work(row * width, y));
}

/// `y = f(a, b)` on one thread.
pub(super) fn combine(y: &mut [f32], a: Side<'_>, b: Side<'_>, f: impl Fn(f32, f32) -> f32) {
    match (a, b) {
        (Side::Run(a), Side::Run(b)) => y.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = f(*a, *b)),
        (Side::Run(a), Side::Same(b)) => y.iter_mut().zip(a).for_each(|(y, a)| *y = f(*a, b)),
        (Side::Run(a), Side::Here) => y.iter_mut().zip(a).for_each(|(y, a)| *y = f(*a, *y)),
        (Side::Same(a), Side::Run(b)) => y.iter_mut().zip(b).for_each(|(y, b)| *y = f(a, *b)),
        (Side::Same(a), Side::Same(b)) => y.fill(f(a, b)),
        (Side::Same(a), Side::Here) => y.iter_mut().for_each(|y| *y = f(a, *y)),
        (Side::Here, Side::Run(b)) => y.iter_mut().zip(b).for_each(|(y, b)| *y = f(*y, *b)),
        (Side::Here, Side::Same(b)) => y.iter_mut().for_each(|y| *y = f(*y, b)),
        (Side::Here, Side::Here) => y.iter_mut().for_each(|y| *y = f(*y, *y)),
    }
}

/// The sum of a function of each element.
pub(super) fn sum(run: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    fold(run, 0.0, |sum, x| sum + f(x), |a, b| a + b)
}

/// The largest element.
pub(super) fn largest(run: &[f32]) -> f32 {
    fold(run, f32::NEG_INFINITY, f32::max, f32::max)
}

/// The larger number; as in TensorFlow, what is compared with a NaN is a NaN.
#[inline]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// Takes up every element with `step`, in lanes that `join` brings together at the end.
pub(super) fn fold(
    run: &[f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = run.as_chunks::<LANES>();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, x)| *lane = step(*lane, *x));
    }
    lanes.iter_mut().zip(rest).for_each(|(lane, x)| *lane = step(*lane, *x));
    lanes.into_iter().fold(start, join)
}

/// The sum of a function of each pair of elements.
pub(super) fn sum_pairs(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        lanes.iter_mut().zip(a).zip(b).for_each(|((lane, a), b)| *lane += f(*a, *b));
    }
    lanes.into_iter().sum()
}
