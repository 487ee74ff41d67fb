//! The CPU kernel of a constant.

use super::elementwise::by_pieces;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::Fill;

impl CpuKernel for Fill {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        by_pieces(&mut call.outputs[0], |_, y| y.fill(self.value));
        Ok(())
    }
}
