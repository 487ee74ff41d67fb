//! The CPU kernel of joining tensors.

use super::copying::{Element, Movement, move_elements};
use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Concat;
use rayon::prelude::*;

impl CpuKernel for Concat {
    /// Of the same size only if nothing else is joined to it.
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let mut before = 0;
        for input in call.inputs {
            move_elements(&Part { axis: self.axis, before }, input, &mut call.outputs[0]);
            before += row_length(self.axis, input.shape());
        }
        Ok(())
    }
}

/// One of the tensors that are joined. A row is what lies behind one index of the axes before the joined one.
struct Part {
    axis: usize,
    /// How many elements of each row of the result come from the tensors before.
    before: usize,
}

impl Movement for Part {
    fn copy<T: Element>(&self, shape: &Shape, x: &[T], y: &mut [T]) {
        let length = row_length(self.axis, shape);
        let rows = x.len() / length;
        let y_rows = y.par_chunks_mut(y.len() / rows).with_min_len(PIECE.div_ceil(length));
        y_rows.zip(x.par_chunks(length)).for_each(|(y, x)| {
            y[self.before..self.before + length].copy_from_slice(x);
        });
    }
}

fn row_length(axis: usize, shape: &Shape) -> usize {
    shape.extents()[axis..].iter().product()
}
