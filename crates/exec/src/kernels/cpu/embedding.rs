//! The CPU kernels of embedding.

use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{Embedding, EmbeddingGradient};
use rayon::prelude::*;

/// About this many elements make a piece of work worth a thread.
const PIECE: usize = 1 << 14;

/// The gradient's table is cut into at most so many pieces, since each of them looks at all ids.
const GRADIENT_PIECES: usize = 32;

impl CpuKernel for Embedding {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([table, ids], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (rows, width) = (table.shape()[0], table.shape()[1]);
        let (table, ids) = (table.f32(), ids.i32());
        check(ids, rows, "embedding")?;
        if width == 0 {
            return Ok(());
        }
        let piece = PIECE.div_ceil(width);
        y.f32().par_chunks_mut(piece * width).zip(ids.par_chunks(piece)).for_each(|(y, ids)| {
            for (y, &id) in y.chunks_exact_mut(width).zip(ids) {
                y.copy_from_slice(&table[id as usize * width..][..width]);
            }
        });
        Ok(())
    }
}

impl CpuKernel for EmbeddingGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([ids, dy], [dtable]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let width = dy.shape().last();
        let (ids, dy) = (ids.i32(), dy.f32());
        check(ids, self.rows, "embedding_gradient")?;
        if self.rows == 0 || width == 0 {
            return Ok(());
        }
        let piece = self.rows.div_ceil(GRADIENT_PIECES);
        dtable.f32().par_chunks_mut(piece * width).enumerate().for_each(|(number, dtable)| {
            dtable.fill(0.0);
            let own = number * piece..number * piece + dtable.len() / width;
            for (dy, &id) in dy.chunks_exact(width).zip(ids) {
                if own.contains(&(id as usize)) {
                    let row = &mut dtable[(id as usize - own.start) * width..][..width];
                    row.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy);
                }
            }
        });
        Ok(())
    }
}

/// Every id must name a row.
fn check(ids: &[i32], rows: usize, op: &'static str) -> Result<(), KernelError> {
    match ids.iter().find(|&&id| usize::try_from(id).map_or(true, |id| id >= rows)) {
        Some(&id) => Err(KernelError::IndexOutOfRange { op, index: i64::from(id), limit: rows }),
        None => Ok(()),
    }
}
