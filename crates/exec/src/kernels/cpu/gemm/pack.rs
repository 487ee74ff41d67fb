//! Packing: factors are copied into panels, which tiles read from the first element to the last.
//!
//! A panel has the rows of a left factor, or the columns of a right factor, that a tile reads at every step of the
//! depth, one step after another. Where a factor ends within a panel, the rest of the panel is anything: what tiles
//! compute from it, they do not write.

use super::Matrix;
use std::cell::RefCell;

/// The most floats of a left factor that are packed at a time.
const LEFT: usize = 24 << 10;
/// The most floats of a right factor that are packed at a time.
const RIGHT: usize = 128 << 10;
/// So many threads have that much; more threads share what these would have, down to an eighth for each. Bits do not
/// depend on it: it only decides how often a factor is packed again.
const GENEROUS: usize = 32;
const LEAST_SHARE: usize = 8;
/// Panels start at a cache line: so many floats.
const LINE: usize = 16;

/// Packs a matrix whose rows are the steps of the depth, and whose columns are cut into panels.
pub(super) type Pack = fn(Matrix<'_>, &mut [f32]);

thread_local! {
    /// Where a thread packs: taken when it first multiplies, and kept, so that a step allocates nothing.
    static BUFFER: RefCell<Vec<f32>> = RefCell::new(vec![0.0; (LEFT + RIGHT) / share() + LINE]);
}

/// Calls `body` with this thread's room for a left and for a right factor.
pub(super) fn with_buffers(body: impl FnOnce(&mut [f32], &mut [f32])) {
    BUFFER.with_borrow_mut(|buffer| {
        let skipped = buffer.as_ptr().align_offset(4 * LINE);
        let share = (LEFT + RIGHT) / (buffer.len() - LINE);
        let (left, right) = buffer[skipped..].split_at_mut(LEFT / share);
        body(left, &mut right[..RIGHT / share]);
    });
}

/// By how much less a thread of this pool has.
fn share() -> usize {
    rayon::current_num_threads().div_ceil(GENEROUS).next_power_of_two().min(LEAST_SHARE)
}

/// Takes this thread's room now rather than with its first product.
pub(super) fn take_buffers() {
    BUFFER.with_borrow(|_| ());
}

/// Packs into panels of so many columns.
pub(super) fn pack<const COLUMNS: usize>(from: Matrix<'_>, to: &mut [f32]) {
    let (steps, _) = to.as_chunks_mut::<COLUMNS>();
    if from.column_stride == 1 {
        copy(from, steps);
    } else {
        for (panel, first) in (0..from.columns).step_by(COLUMNS).enumerate() {
            let part = from.column_block(first, COLUMNS.min(from.columns - first));
            transpose(part, &mut steps[panel * from.rows..][..from.rows]);
        }
    }
}

/// All panels of a matrix whose columns are neighbours. Rows are read one after another, which is what memory is fast
/// at.
fn copy<const COLUMNS: usize>(from: Matrix<'_>, steps: &mut [[f32; COLUMNS]]) {
    let whole = from.columns / COLUMNS;
    let rest = from.columns % COLUMNS;
    for row in 0..from.rows {
        let line = &from.data[row * from.row_stride..];
        let (pieces, _) = line[..from.columns].as_chunks();
        for (step, piece) in steps[row..].iter_mut().step_by(from.rows).zip(pieces) {
            *step = *piece;
        }
        if rest > 0 {
            let (step, line) = (&mut steps[whole * from.rows + row], &line[whole * COLUMNS..]);
            // Copying elements beyond the matrix is faster than copying some, where the slice goes on.
            match line.first_chunk() {
                Some(piece) => *step = *piece,
                None => step[..rest].copy_from_slice(&line[..rest]),
            }
        }
    }
}

/// A panel of a matrix whose rows are neighbours.
fn transpose<const COLUMNS: usize>(from: Matrix<'_>, to: &mut [[f32; COLUMNS]]) {
    let line = |column: usize| &from.data[column * from.column_stride..][..from.rows];
    let mut column = 0;
    while column + 4 <= from.columns {
        transpose_lines([0, 1, 2, 3].map(|i| line(column + i)), column, to);
        column += 4;
    }
    for column in column..from.columns {
        for (to, &from) in to.iter_mut().zip(line(column)) {
            to[column] = from;
        }
    }
}

/// Writes four lines as columns. Blocks of four by four are turned in registers.
fn transpose_lines<const COLUMNS: usize>(lines: [&[f32]; 4], column: usize, to: &mut [[f32; COLUMNS]]) {
    let (blocks, rest) = to.as_chunks_mut::<4>();
    let whole = 4 * blocks.len();
    for (block, to) in blocks.iter_mut().enumerate() {
        let from: [[f32; 4]; 4] = lines.map(|line| *line[4 * block..].first_chunk().expect("a whole block"));
        for (row, to) in to.iter_mut().enumerate() {
            let to: &mut [f32; 4] = to[column..].first_chunk_mut().expect("four columns");
            *to = from.map(|line| line[row]);
        }
    }
    for (row, to) in rest.iter_mut().enumerate() {
        for (to, line) in to[column..].iter_mut().zip(lines) {
            *to = line[whole + row];
        }
    }
}
