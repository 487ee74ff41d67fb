//! The CPU kernel that looks whether everything is a number.

use super::elementwise::PIECE;
use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::AllFinite;
use rayon::prelude::*;

impl CpuKernel for AllFinite {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        // Within a piece nothing stops early, so that it is one loop of vectors.
        let piece = |piece: &[f32]| piece.iter().fold(true, |finite, x| finite & x.is_finite());
        let finite = call.inputs.iter().all(|input| input.f32().par_chunks(PIECE).all(piece));
        call.outputs[0].f32()[0] = if finite { 1.0 } else { 0.0 };
        Ok(())
    }
}
