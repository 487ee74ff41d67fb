//! What kernels share that move elements without looking at them, whatever the elements are.

use super::elementwise::PIECE;
use super::runs::segments;
use crate::kernels::{Input, Output};
use plimsoll_graph::{ElementType, Shape};
use rayon::prelude::*;

/// An element as it lies in memory.
pub(super) trait Element: Copy + Send + Sync {
    fn of(input: &Input) -> &[Self];
    fn of_mut(output: &mut Output) -> &mut [Self];
}

impl Element for f32 {
    fn of(input: &Input) -> &[Self] {
        input.f32()
    }
    fn of_mut(output: &mut Output) -> &mut [Self] {
        output.f32()
    }
}

impl Element for i32 {
    fn of(input: &Input) -> &[Self] {
        input.i32()
    }
    fn of_mut(output: &mut Output) -> &mut [Self] {
        output.i32()
    }
}

impl Element for u16 {
    fn of(input: &Input) -> &[Self] {
        input.bits16()
    }
    fn of_mut(output: &mut Output) -> &mut [Self] {
        output.bits16()
    }
}

/// A way of copying elements from `x`, which has the given shape, to `y`.
pub(super) trait Movement {
    fn copy<T: Element>(&self, shape: &Shape, x: &[T], y: &mut [T]);
}

/// Copies by the rule. An output that took the place of its input has as many elements in the same order, so nothing
/// moves.
pub(super) fn move_elements(movement: &impl Movement, x: &Input, y: &mut Output) {
    if x.replaced_by().is_some() {
        return;
    }
    match x.tensor().element {
        ElementType::F32 => movement.copy::<f32>(x.shape(), Element::of(x), Element::of_mut(y)),
        ElementType::I32 => movement.copy::<i32>(x.shape(), Element::of(x), Element::of_mut(y)),
        ElementType::F16 | ElementType::Bf16 => {
            movement.copy::<u16>(x.shape(), Element::of(x), Element::of_mut(y))
        }
    }
}

/// Fills `y`, whose rows have `length` elements, with rows that start in `x` where `start` says.
pub(super) fn copy_rows<T: Element>(
    x: &[T],
    y: &mut [T],
    length: usize,
    start: impl Fn(usize) -> usize + Sync,
) {
    y.par_chunks_mut(PIECE).enumerate().for_each(|(piece, y)| {
        for segment in segments(piece * PIECE, y.len(), length) {
            let from = start(segment.row) + segment.column;
            y[segment.at..segment.at + segment.length].copy_from_slice(&x[from..from + segment.length]);
        }
    });
}
