//! The CPU kernel of reordering axes.

use super::copying::{Element, Movement, copy_rows, move_elements};
use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Transpose;
use rayon::prelude::*;

/// So many columns of several rows are copied together, so that what is fetched of the argument for one row serves its
/// neighbours.
const BAND: usize = 16;

impl CpuKernel for Transpose {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        move_elements(self, &call.inputs[0], &mut call.outputs[0]);
        Ok(())
    }
}

impl Movement for Transpose {
    /// Trailing axes that stay where they are move in one piece; otherwise the elements of a row are gathered one by
    /// one.
    fn copy<T: Element>(&self, shape: &Shape, x: &[T], y: &mut [T]) {
        let rank = shape.rank();
        let staying = (0..rank).rev().take_while(|&axis| self.order[axis] == axis).count();
        if staying > 0 || rank == 0 {
            let outer = rank - staying;
            let length = shape.extents()[outer..].iter().product();
            return copy_rows(x, y, length, |row| start_of(self, shape, outer, row));
        }
        let width = shape[self.order[rank - 1]];
        let step = stride(shape, self.order[rank - 1]);
        let rows_together = PIECE.div_ceil(width);
        y.par_chunks_mut(rows_together * width).enumerate().for_each(|(piece, y)| {
            for band in (0..width).step_by(BAND) {
                let end = (band + BAND).min(width);
                for (row, y) in y.chunks_exact_mut(width).enumerate() {
                    let start = start_of(self, shape, rank - 1, piece * rows_together + row);
                    for (column, y) in y[band..end].iter_mut().enumerate() {
                        *y = x[start + (band + column) * step];
                    }
                }
            }
        });
    }
}

/// Where a row of the result, counted along its first `outer` axes, starts in the argument.
fn start_of(op: &Transpose, shape: &Shape, outer: usize, mut row: usize) -> usize {
    let mut start = 0;
    for &axis in op.order[..outer].iter().rev() {
        start += row % shape[axis] * stride(shape, axis);
        row /= shape[axis];
    }
    start
}

fn stride(shape: &Shape, axis: usize) -> usize {
    shape.extents()[axis + 1..].iter().product()
}
