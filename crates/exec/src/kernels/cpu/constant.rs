//! The CPU kernel of a tensor that does not change.

use super::elementwise::by_pieces;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::Constant;

impl CpuKernel for Constant {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        by_pieces(&mut call.outputs[0], |start, y| y.copy_from_slice(&self.values[start..start + y.len()]));
        Ok(())
    }
}
