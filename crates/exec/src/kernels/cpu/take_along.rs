//! The CPU kernels of elements by their positions in a row.

use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{TakeAlong, TakeAlongGradient};
use rayon::prelude::*;

impl CpuKernel for TakeAlong {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, positions], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (extent, width) = (x.shape().last(), positions.shape().last());
        let (x, positions) = (x.f32(), positions.i32());
        check(positions, extent, "take_along")?;
        let rows = y.f32().par_chunks_mut(width).zip(x.par_chunks(extent)).zip(positions.par_chunks(width));
        rows.with_min_len(PIECE.div_ceil(width)).for_each(|((y, x), positions)| {
            y.iter_mut().zip(positions).for_each(|(y, &position)| *y = x[position as usize]);
        });
        Ok(())
    }
}

impl CpuKernel for TakeAlongGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([positions, dy], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let width = dy.shape().last();
        let (positions, dy) = (positions.i32(), dy.f32());
        check(positions, self.extent, "take_along_gradient")?;
        let rows = dx.f32().par_chunks_mut(self.extent);
        let rows = rows.zip(dy.par_chunks(width)).zip(positions.par_chunks(width));
        rows.with_min_len(PIECE.div_ceil(self.extent)).for_each(|((dx, dy), positions)| {
            dx.fill(0.0);
            dy.iter().zip(positions).for_each(|(dy, &position)| dx[position as usize] += dy);
        });
        Ok(())
    }
}

/// Every position must be one of a row.
fn check(positions: &[i32], extent: usize, op: &'static str) -> Result<(), KernelError> {
    let outside = |&&position: &&i32| usize::try_from(position).map_or(true, |position| position >= extent);
    match positions.iter().find(outside) {
        Some(&index) => Err(KernelError::IndexOutOfRange { op, index: i64::from(index), limit: extent }),
        None => Ok(()),
    }
}
