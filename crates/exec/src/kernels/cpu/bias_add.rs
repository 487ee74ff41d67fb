//! The CPU kernel of adding a bias.

use super::elementwise::{Side, by_rows, combine};
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::BiasAdd;

impl CpuKernel for BiasAdd {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, bias], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (x, bias) = (Side::of(x), bias.f32());
        by_rows(y, bias.len(), |start, y| combine(y, x.cut(start, y.len()), Side::Run(bias), |x, b| x + b));
        Ok(())
    }
}
