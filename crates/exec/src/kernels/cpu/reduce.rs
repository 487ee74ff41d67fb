//! The CPU kernels of reductions and of the maximum's gradient.
//!
//! Axes that lie side by side, which is nearly every case, make the tensor a block `[outer, reduced, inner]`: trailing
//! axes have `inner == 1`, leading axes `outer == 1`, global pooling has neither. The reduced axis is cut into parts
//! whose results are combined in order. Axes with a gap between them take a path that looks up every element.

use super::elementwise::{self, PIECE, Side, by_pieces, combine};
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Reduce, ReduceMaxGradient, Reduction};
use rayon::prelude::*;

/// With so many outer indices there is enough to do in parallel without cutting the reduced axis.
const MANY: usize = 16;

/// At most so many parts, which bounds the scratch.
const MAX_PARTS: usize = 64;

impl CpuKernel for Reduce {
    /// Of the same size only if every reduced axis has extent 1.
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        if x.replaced_by().is_some() {
            return Ok(());
        }
        let (shape, x, y) = (x.shape(), x.f32(), y.f32());
        match self.reduction {
            Reduction::Sum | Reduction::Mean => {
                let scale = match self.reduction {
                    Reduction::Mean => y.len() as f32 / x.len() as f32,
                    _ => 1.0,
                };
                reduce(shape, &self.axes, x, y, call.scratch, 0.0, |a, b| a + b);
                if scale != 1.0 {
                    y.iter_mut().for_each(|y| *y *= scale);
                }
            }
            Reduction::Product => reduce(shape, &self.axes, x, y, call.scratch, 1.0, |a, b| a * b),
            Reduction::Max => {
                reduce(shape, &self.axes, x, y, call.scratch, f32::NEG_INFINITY, elementwise::larger)
            }
        }
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        match Block::of(&types.inputs[0].shape, &self.axes) {
            Some(block) if block.parts() > 1 => block.outer * block.parts() * block.inner,
            _ => 0,
        }
    }
}

impl CpuKernel for ReduceMaxGradient {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    /// Equal maxima share the gradient, so they are counted first. A NaN equals nothing: nobody shares it, all get NaN.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, y, dy], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (shape, y, dy, shares) = (x.shape(), y.f32(), dy.f32(), &mut call.scratch[..y.f32().len()]);
        if x.replaced_by().is_none() {
            let x = Side::of(x);
            by_pieces(dx, |start, dx| combine(dx, x.cut(start, dx.len()), Side::Same(0.0), |x, _| x));
        }
        let dx = dx.f32();
        match Block::of(shape, &self.axes) {
            Some(block) => {
                let length = block.reduced * block.inner;
                let whole = dx.par_chunks_mut(length).zip(shares.par_chunks_mut(block.inner));
                let whole = whole.zip(y.par_chunks(block.inner)).zip(dy.par_chunks(block.inner));
                let enough = PIECE.div_ceil(length);
                whole
                    .with_min_len(enough)
                    .for_each(|(((dx, shares), y), dy)| share_among_maxima(dx, shares, y, dy));
            }
            None => {
                let gap = Gap { shape, axes: &self.axes };
                let elements = &*dx;
                shares.par_iter_mut().enumerate().for_each(|(group, share)| {
                    let maxima = gap.members(group).filter(|&member| elements[member] == y[group]).count();
                    *share = dy[group] / maxima as f32;
                });
                dx.par_iter_mut().with_min_len(PIECE).enumerate().for_each(|(position, dx)| {
                    let group = gap.group(position);
                    *dx = f32::from(*dx == y[group]) * shares[group];
                });
            }
        }
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        types.inputs[1].shape.elements()
    }
}

/// Replaces the rows of `x` by the gradient.
fn share_among_maxima(x: &mut [f32], shares: &mut [f32], y: &[f32], dy: &[f32]) {
    shares.fill(0.0);
    for row in x.chunks_exact(y.len()) {
        shares.iter_mut().zip(row).zip(y).for_each(|((count, x), y)| *count += f32::from(x == y));
    }
    shares.iter_mut().zip(dy).for_each(|(share, dy)| *share = dy / *share);
    for row in x.chunks_exact_mut(y.len()) {
        row.iter_mut().zip(y).zip(shares.iter()).for_each(|((x, y), share)| {
            *x = f32::from(x == y) * *share;
        });
    }
}

fn reduce(
    shape: &Shape,
    axes: &[usize],
    x: &[f32],
    y: &mut [f32],
    scratch: &mut [f32],
    start: f32,
    f: impl Fn(f32, f32) -> f32 + Sync + Copy,
) {
    let Some(block) = Block::of(shape, axes) else {
        let gap = Gap { shape, axes };
        let enough = PIECE.div_ceil(gap.count(true));
        y.par_iter_mut().with_min_len(enough).enumerate().for_each(|(group, y)| {
            *y = gap.members(group).fold(start, |sum, member| f(sum, x[member]));
        });
        return;
    };
    let parts = block.parts();
    if parts == 1 {
        return block.reduce_parts(x, y, start, f);
    }
    let partial = &mut scratch[..block.outer * parts * block.inner];
    block.reduce_parts(x, partial, start, f);
    for (y, partial) in y.chunks_exact_mut(block.inner).zip(partial.chunks_exact(parts * block.inner)) {
        fold_rows(partial, y, start, f);
    }
}

/// A tensor seen as `[outer, reduced, inner]`.
struct Block {
    outer: usize,
    reduced: usize,
    inner: usize,
}

impl Block {
    /// `None` if an axis that is kept lies between two that are reduced.
    fn of(shape: &Shape, axes: &[usize]) -> Option<Self> {
        let mut block = Self { outer: 1, reduced: 1, inner: 1 };
        for axis in (0..shape.rank()).rev().filter(|&axis| shape[axis] > 1) {
            match (axes.contains(&axis), block.outer > 1) {
                (true, true) => return None,
                (true, false) => block.reduced *= shape[axis],
                (false, _) if block.reduced > 1 => block.outer *= shape[axis],
                (false, _) => block.inner *= shape[axis],
            }
        }
        Some(block)
    }

    /// Into how many parts the reduced axis is cut.
    fn parts(&self) -> usize {
        self.reduced.div_ceil(self.part())
    }

    /// How long a part of the reduced axis is.
    fn part(&self) -> usize {
        match self.outer >= MANY {
            true => self.reduced,
            false => PIECE.div_ceil(self.inner).max(self.reduced.div_ceil(MAX_PARTS)),
        }
    }

    /// Reduces each part of each outer index to one row of `y`.
    fn reduce_parts(&self, x: &[f32], y: &mut [f32], start: f32, f: impl Fn(f32, f32) -> f32 + Sync + Copy) {
        let (parts, part, inner) = (self.parts(), self.part(), self.inner);
        let enough = PIECE.div_ceil(part.min(self.reduced) * inner);
        y.par_chunks_mut(inner).with_min_len(enough).enumerate().for_each(|(row, y)| {
            let (outer, first) = (row / parts, row % parts * part);
            let last = (first + part).min(self.reduced);
            let at = |index: usize| (outer * self.reduced + index) * inner;
            fold_rows(&x[at(first)..at(last)], y, start, f);
        });
    }
}

/// Reduces rows as long as `y` to one.
fn fold_rows(rows: &[f32], y: &mut [f32], start: f32, f: impl Fn(f32, f32) -> f32 + Copy) {
    if let [y] = y {
        *y = elementwise::fold(rows, start, f, f);
        return;
    }
    y.fill(start);
    for row in rows.chunks_exact(y.len()) {
        y.iter_mut().zip(row).for_each(|(y, x)| *y = f(*y, *x));
    }
}

/// Reduced axes with kept ones between them.
struct Gap<'a> {
    shape: &'a Shape,
    axes: &'a [usize],
}

impl Gap<'_> {
    /// The elements that go to one position of the result.
    fn members(&self, group: usize) -> impl Iterator<Item = usize> {
        let base = self.position(group, false);
        (0..self.count(true)).map(move |member| base + self.position(member, true))
    }

    /// The position in the result that an element goes to.
    fn group(&self, mut position: usize) -> usize {
        let (mut group, mut stride) = (0, 1);
        for axis in (0..self.shape.rank()).rev() {
            let extent = self.shape[axis];
            if !self.axes.contains(&axis) {
                group += position % extent * stride;
                stride *= extent;
            }
            position /= extent;
        }
        group
    }

    /// The product of the extents of the reduced axes, or of the others.
    fn count(&self, reduced: bool) -> usize {
        let chosen = (0..self.shape.rank()).filter(|axis| self.axes.contains(axis) == reduced);
        chosen.map(|axis| self.shape[axis]).product()
    }

    /// Where an index of the reduced axes, or of the others, points if the rest are 0.
    fn position(&self, mut index: usize, reduced: bool) -> usize {
        let (mut position, mut stride) = (0, 1);
        for axis in (0..self.shape.rank()).rev() {
            let extent = self.shape[axis];
            if self.axes.contains(&axis) == reduced {
                position += index % extent * stride;
                index /= extent;
            }
            stride *= extent;
        }
        position
    }
}
