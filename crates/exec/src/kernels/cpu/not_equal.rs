//! The CPU kernel of the mask of positions that are not padding.

use super::elementwise::by_pieces;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::NotEqual;

impl CpuKernel for NotEqual {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([ids], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        if ids.replaced_by().is_some() {
            // The output is seen as floats, but what it holds are the bits of ids.
            by_pieces(y, |_, y| {
                y.iter_mut().for_each(|y| *y = f32::from(y.to_bits().cast_signed() != self.value));
            });
            return Ok(());
        }
        let ids = ids.i32();
        by_pieces(y, |start, y| {
            y.iter_mut().zip(&ids[start..]).for_each(|(y, id)| *y = f32::from(*id != self.value));
        });
        Ok(())
    }
}
