//! The CPU kernel of random numbers of the uniform distribution.

use super::elementwise::{PIECE, by_pieces};
use super::{Call, CpuKernel, KernelError};
use crate::philox::{block, unit};
use plimsoll_graph::op::RandomUniform;

/// A block of the generator gives so many numbers; every piece starts with a new block.
const BLOCK: usize = 4;
const _: () = assert!(PIECE.is_multiple_of(BLOCK));

impl CpuKernel for RandomUniform {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([step], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let step = step.i32()[0] as u64;
        by_pieces(y, |start, y| {
            for (number, y) in y.chunks_mut(BLOCK).enumerate() {
                let words = block(self.seed, step, (start / BLOCK + number) as u64);
                y.iter_mut().zip(words).for_each(|(y, word)| *y = unit(word));
            }
        });
        Ok(())
    }
}
