//! The CPU kernel of padding.

use super::elementwise::by_rows;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::Shape;
use plimsoll_graph::op::Pad;

impl CpuKernel for Pad {
    /// Of the same size only if there is no padding.
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    /// A row reaches over the trailing axes without padding and over the last one with it.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        if x.replaced_by().is_some() {
            return Ok(());
        }
        let (shape, x) = (x.shape(), x.f32());
        let is_padded = |&axis: &usize| self.before[axis] + self.after[axis] > 0;
        let Some(last) = (0..shape.rank()).rev().find(is_padded) else {
            y.f32().copy_from_slice(x);
            return Ok(());
        };
        let block: usize = shape.extents()[last + 1..].iter().product();
        let [before, inside, after] = [self.before[last], shape[last], self.after[last]].map(|n| n * block);
        let width = before + inside + after;
        by_rows(y, width, |position, y| match row_of_argument(self, shape, last, position / width) {
            Some(row) => {
                y[..before].fill(self.value);
                y[before..before + inside].copy_from_slice(&x[row * inside..(row + 1) * inside]);
                y[before + inside..].fill(self.value);
            }
            None => y.fill(self.value),
        });
        Ok(())
    }
}

/// The row of the argument that lies in a row of the result, both counted along the first `outer` axes.
fn row_of_argument(op: &Pad, shape: &Shape, outer: usize, mut row: usize) -> Option<usize> {
    let (mut own_row, mut stride) = (0, 1);
    for axis in (0..outer).rev() {
        let extent = op.before[axis] + shape[axis] + op.after[axis];
        let index = (row % extent).checked_sub(op.before[axis]).filter(|&index| index < shape[axis])?;
        own_row += index * stride;
        stride *= shape[axis];
        row /= extent;
    }
    Some(own_row)
}
