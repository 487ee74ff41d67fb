//! The CPU kernel of a constant.

use super::elementwise::by_pieces;
use super::{Call, KernelError, Types};
use plimsoll_graph::op::Fill;

pub(super) const IN_PLACE: &[(usize, usize)] = &[];

pub(super) fn run(op: &Fill, call: Call<'_>) -> Result<(), KernelError> {
    by_pieces(&mut call.outputs[0], |_, y| y.fill(op.value));
    Ok(())
}

pub(super) fn scratch(_op: &Fill, _types: Types<'_>) -> usize {
    0
}
