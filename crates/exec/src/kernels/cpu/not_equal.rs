//! The CPU kernel of the mask of positions that are not padding.

use super::elementwise::by_pieces;
use super::{Call, KernelError};
use plimsoll_graph::op::NotEqual;

pub(super) const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

pub(super) fn run(op: &NotEqual, call: Call<'_>) -> Result<(), KernelError> {
    let ([ids], [y]) = (call.inputs, call.outputs) else {
        unreachable!("the shape rule has checked the inputs")
    };
    if ids.replaced_by().is_some() {
        // The output is seen as floats, but what it holds are the bits of ids.
        by_pieces(y, |_, y| {
            y.iter_mut().for_each(|y| *y = f32::from(y.to_bits().cast_signed() != op.value));
        });
        return Ok(());
    }
    let ids = ids.i32();
    by_pieces(y, |start, y| {
        y.iter_mut().zip(&ids[start..]).for_each(|(y, id)| *y = f32::from(*id != op.value));
    });
    Ok(())
}
