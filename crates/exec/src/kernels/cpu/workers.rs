//! Work cut into pieces: how large they are, who does them, and how partial sums become one.

use rayon::prelude::*;
use std::sync::Mutex;

/// About this many elements make a piece of memory-bound work worth a thread.
pub(super) const PIECE: usize = 1 << 14;

/// The size of equal pieces, none above the limit.
pub(super) fn even_pieces(total: usize, limit: usize) -> usize {
    let pieces = total.div_ceil(limit.max(1)).max(1);
    total.div_ceil(pieces).max(1)
}

/// How many rows of so many elements make a piece worth a thread.
pub(super) fn rows_per_piece(columns: usize) -> usize {
    (PIECE / columns.max(1)).max(1)
}

/// Runs `work` once on each item, on as many threads of the pool as the scratch has parts. It is cut into parts
/// of `part` elements; a thread takes the next item as soon as it is free and has a part of its own meanwhile.
pub(super) fn for_each<T: Send>(
    items: impl Iterator<Item = T> + Send,
    scratch: &mut [f32],
    part: usize,
    work: impl Fn(T, &mut [f32]) + Sync,
) {
    let items = Mutex::new(items);
    let next = || items.lock().expect("no thread fails while it takes an item").next();
    scratch.par_chunks_exact_mut(part).for_each(|part| {
        while let Some(item) = next() {
            work(item, part);
        }
    });
}

/// Adds partial sums, which follow one another, to a total, in their order.
pub(super) fn add_partials(total: &mut [f32], partials: &[f32]) {
    let length = total.len().max(1);
    total.par_chunks_mut(PIECE).enumerate().for_each(|(piece, total)| {
        for partial in partials.chunks_exact(length) {
            let partial = &partial[piece * PIECE..][..total.len()];
            total.iter_mut().zip(partial).for_each(|(total, partial)| *total += partial);
        }
    });
}
