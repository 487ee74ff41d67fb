//! Packing: factors are copied into panels, which tiles read from the first element to the last.
//!
//! A panel has the rows of a left factor, or the columns of a right factor, that a tile reads at every step of the depth, one step after
//! another. Where a factor ends within a panel, the panel is filled up with zeros.

use super::Matrix;
use std::cell::RefCell;

/// The most floats of a left factor that are packed at a time.
pub(super) const LEFT: usize = 48 << 10;
/// The most floats of a right factor that are packed at a time.
pub(super) const RIGHT: usize = 128 << 10;
/// Panels start at a cache line: so many floats.
const LINE: usize = 16;

/// Packs a matrix whose rows are the steps of the depth, and whose columns are cut into panels.
pub(super) type Pack = fn(Matrix<'_>, &mut [f32]);

thread_local! {
    /// Where a thread packs: taken when it first multiplies, and kept, so that a step allocates nothing.
    static BUFFER: RefCell<Vec<f32>> = RefCell::new(vec![0.0; LEFT + RIGHT + LINE]);
}

/// Calls `body` with this thread's room for a left and for a right factor.
pub(super) fn with_buffers(body: impl FnOnce(&mut [f32], &mut [f32])) {
    BUFFER.with_borrow_mut(|buffer| {
        let skipped = buffer.as_ptr().align_offset(4 * LINE);
        let (left, right) = buffer[skipped..].split_at_mut(LEFT);
        body(left, &mut right[..RIGHT]);
    });
}

/// Packs into panels of so many columns.
pub(super) fn pack<const COLUMNS: usize>(from: Matrix<'_>, to: &mut [f32]) {
    for first in (0..from.columns).step_by(COLUMNS) {
        let columns = COLUMNS.min(from.columns - first);
        let panel = &mut to[first * from.rows..][..COLUMNS * from.rows];
        let (steps, _) = panel.as_chunks_mut();
        let part = from.column_block(first, columns);
        if part.column_stride == 1 {
            copy::<COLUMNS>(part, steps);
        } else {
            transpose::<COLUMNS>(part, steps);
        }
    }
}

/// A panel of a matrix whose columns are neighbours.
fn copy<const COLUMNS: usize>(from: Matrix<'_>, to: &mut [[f32; COLUMNS]]) {
    for (row, to) in to.iter_mut().enumerate() {
        let from = &from.data[row * from.row_stride..][..from.columns];
        if let Some(whole) = from.as_array() {
            *to = *whole;
        } else {
            to[..from.len()].copy_from_slice(from);
            to[from.len()..].fill(0.0);
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
    for column in column..COLUMNS {
        let line = if column < from.columns { line(column) } else { &[] };
        for (row, to) in to.iter_mut().enumerate() {
            to[column] = line.get(row).copied().unwrap_or(0.0);
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
