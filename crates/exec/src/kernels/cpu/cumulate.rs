//! The CPU kernel of sums and products up to an element: one row after another, each from its start.

use super::elementwise::{Side, by_rows};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::Cumulate;

impl CpuKernel for Cumulate {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (width, x) = (x.shape().last(), Side::of(x));
        by_rows(y, width, |start, y| {
            if let Side::Run(x) = x.cut(start, width) {
                y.copy_from_slice(x);
            }
            match self.product {
                true => self.along(y, 1.0, |all, x| all * x),
                false => self.along(y, 0.0, |all, x| all + x),
            }
        });
        Ok(())
    }
}

trait Along {
    fn along(&self, row: &mut [f32], start: f32, join: impl Fn(f32, f32) -> f32);
}

impl Along for Cumulate {
    /// Replaces the elements of a row by what those up to them come to.
    fn along(&self, row: &mut [f32], start: f32, join: impl Fn(f32, f32) -> f32) {
        let mut all = start;
        let mut step = |x: &mut f32| {
            let before = all;
            all = join(all, *x);
            *x = if self.exclusive { before } else { all };
        };
        match self.reverse {
            true => row.iter_mut().rev().for_each(&mut step),
            false => row.iter_mut().for_each(&mut step),
        }
    }
}
