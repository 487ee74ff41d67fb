//! The CPU kernel of the order of elements. It sorts positions in place, which takes no memory.

use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::ArgSort;
use rayon::prelude::*;
use std::cmp::Ordering;

impl CpuKernel for ArgSort {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (width, x) = (x.shape().last(), x.f32());
        let rows = y.i32().par_chunks_mut(width).zip(x.par_chunks(width));
        rows.with_min_len(PIECE.div_ceil(width)).for_each(|(y, x)| {
            y.iter_mut().zip(0..).for_each(|(y, position)| *y = position);
            y.sort_unstable_by(|&a, &b| {
                by_size(x[a as usize], x[b as usize], self.descending).then(a.cmp(&b))
            });
        });
        Ok(())
    }
}

/// NaNs come last, whichever way.
fn by_size(a: f32, b: f32, descending: bool) -> Ordering {
    match (a.partial_cmp(&b), descending) {
        (Some(order), false) => order,
        (Some(order), true) => order.reverse(),
        (None, _) => a.is_nan().cmp(&b.is_nan()),
    }
}
