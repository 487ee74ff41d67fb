//! The CPU kernel of dropout.

use super::elementwise::{PIECE, Side, by_pieces, combine};
use super::{Call, CpuKernel, KernelError};
use crate::philox::{block, unit};
use plimsoll_graph::op::Dropout;

/// The generator gives so many numbers at once.
const BLOCK: usize = 4;

/// The mask is made for so many elements at once; every piece starts with a new group.
const GROUP: usize = 256;
const _: () = assert!(GROUP.is_multiple_of(BLOCK) && PIECE.is_multiple_of(GROUP));

impl CpuKernel for Dropout {
    const IN_PLACE: &[(usize, usize)] = &[(0, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, step], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (x, step) = (Side::of(x), step.i32()[0] as u64);
        by_pieces(y, |start, y| {
            for (number, y) in y.chunks_mut(GROUP).enumerate() {
                let position = start + number * GROUP;
                let factors = factors(self, step, (position / BLOCK) as u64);
                // A dropped infinity is 0, not a NaN.
                let apply = |x: f32, factor: f32| if factor == 0.0 { 0.0 } else { x * factor };
                combine(y, x.cut(position, y.len()), Side::Run(&factors[..y.len()]), apply);
            }
        });
        Ok(())
    }
}

/// What the elements of a group, which starts with that block of random numbers, are multiplied by.
fn factors(op: &Dropout, step: u64, first_block: u64) -> [f32; GROUP] {
    let scale = 1.0 / (1.0 - op.rate);
    let mut factors = [0.0; GROUP];
    for (number, factors) in factors.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let words = block(op.seed, step, first_block + number as u64);
        *factors = words.map(|word| if unit(word) >= op.rate { scale } else { 0.0 });
    }
    factors
}
