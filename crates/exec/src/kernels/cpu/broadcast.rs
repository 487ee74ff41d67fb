//! The CPU kernel of stretching.

use super::copying::{Element, Movement, copy_rows, move_elements};
use super::elementwise::PIECE;
use super::runs::{Runs, segments};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Broadcast;
use rayon::prelude::*;

impl CpuKernel for Broadcast {
    /// Of the same size only if nothing is stretched.
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        move_elements(self, &call.inputs[0], &mut call.outputs[0]);
        Ok(())
    }
}

impl Movement for Broadcast {
    fn copy<T: Element>(&self, shape: &Shape, x: &[T], y: &mut [T]) {
        let runs = Runs::new(shape, &self.shape);
        if !runs.stays[0] {
            return copy_rows(x, y, runs.length, |row| runs.start(0, row));
        }
        y.par_chunks_mut(PIECE).enumerate().for_each(|(piece, y)| {
            for segment in segments(piece * PIECE, y.len(), runs.length) {
                y[segment.at..segment.at + segment.length].fill(x[runs.start(0, segment.row)]);
            }
        });
    }
}
