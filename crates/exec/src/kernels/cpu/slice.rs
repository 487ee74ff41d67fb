//! The CPU kernel of cutting out a block.

use super::copying::{Element, Movement, copy_rows, move_elements};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Slice;

impl CpuKernel for Slice {
    /// Of the same size only if everything is cut out.
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        move_elements(self, &call.inputs[0], &mut call.outputs[0]);
        Ok(())
    }
}

impl Movement for Slice {
    /// A row reaches over the trailing axes that are kept whole and over the last one that is cut.
    fn copy<T: Element>(&self, shape: &Shape, x: &[T], y: &mut [T]) {
        let whole = (0..shape.rank()).rev().take_while(|&axis| self.size[axis] == shape[axis]).count();
        let outer = (shape.rank() - whole).saturating_sub(1);
        let length = self.size[outer..].iter().product();
        copy_rows(x, y, length, |row| start_of(self, shape, outer, row));
    }
}

/// Where a row of the result, counted along the first `outer` axes, starts in the argument.
fn start_of(op: &Slice, shape: &Shape, outer: usize, mut row: usize) -> usize {
    let mut stride = 1;
    let mut start = 0;
    for axis in (0..shape.rank()).rev() {
        start += op.start[axis] * stride;
        if axis < outer {
            start += row % op.size[axis] * stride;
            row /= op.size[axis];
        }
        stride *= shape[axis];
    }
    start
}
