//! The CPU kernel of a constant.

use super::elementwise::by_pieces;
use super::{Call, KernelError};
use plimsoll_graph::op::Fill;

pub(super) fn run(op: &Fill, call: Call<'_>) -> Result<(), KernelError> {
    by_pieces(&mut call.outputs[0], |_, y| y.fill(op.value));
    Ok(())
}
