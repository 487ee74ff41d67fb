//! The loops around the microkernel, as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
//! (2008), section 4, and in BLIS.
//!
//! A block of the right factor is packed and stays in the second-level cache or near it. For some rows of the left
//! factor at a time, one panel of the block after another is held in the first-level cache and multiplied with all of
//! them. All sizes are constants, so sums and their order depend on shapes alone.

use super::microkernel::{Microkernel, Tile};
use super::{Accumulate, Matrix, MatrixMut, pack};
use std::ops::Range;

/// The most products that are summed in registers. With AVX2, a panel this deep takes half of the first-level cache.
const DEPTH: usize = 256;
/// A right factor is packed for more tiles of rows than this; for fewer, it would hardly be read again.
const ROW_TILES: usize = 4;
/// A left factor whose rows are not dense is packed for more tiles of columns than this. A row that is dense is read as
/// it is.
const COLUMN_TILES: usize = 4;

/// Where the panels of a factor are: packed, or in the matrix itself.
#[derive(Clone, Copy, Debug)]
struct Panels {
    start: *const f32,
    /// From one panel to the next.
    panel: usize,
    /// Within a panel, from one row to the next (of a left factor; columns of a right factor are neighbours).
    row: usize,
    /// From one step of the depth to the next.
    step: usize,
}

/// `c = a b` or `c += a b`.
pub(super) fn multiply(
    kernel: &Microkernel,
    a: Matrix<'_>,
    b: Matrix<'_>,
    mut c: MatrixMut<'_>,
    accumulate: Accumulate,
) {
    let pieces = a.columns.div_ceil(DEPTH);
    let depth = a.columns.div_ceil(pieces);
    pack::with_buffers(|left, right| {
        let width = right.len() / depth / kernel.columns() * kernel.columns();
        for columns in cuts(b.columns, width) {
            for steps in cuts(a.columns, depth) {
                let add = accumulate == Accumulate::Yes || steps.start > 0;
                let a = a.column_block(steps.start, steps.len());
                let b = b.row_block(steps.start, steps.len()).column_block(columns.start, columns.len());
                let c = c.block(0..a.rows, columns.clone());
                multiply_block(kernel, (a, left), (b, right), c, add);
            }
        }
    });
}

/// The same for one row, and a right factor whose columns are neighbours.
pub(super) fn multiply_row(
    kernel: &Microkernel,
    a: Matrix<'_>,
    b: Matrix<'_>,
    c: MatrixMut<'_>,
    accumulate: Accumulate,
) {
    let tile = Tile {
        depth: a.columns,
        left: a.data.as_ptr(),
        left_row: a.row_stride,
        left_step: a.column_stride,
        right: b.data.as_ptr(),
        right_step: b.row_stride,
        result: c.start,
        result_row: c.row_stride,
        columns: c.columns,
        add: accumulate == Accumulate::Yes,
    };
    // SAFETY: the views have checked that their elements are there, and the entry that their extents agree.
    unsafe { kernel.run_row(&tile) }
}

/// A block of the right factor that can be packed whole. With each factor comes the room to pack it.
fn multiply_block(
    kernel: &Microkernel,
    (a, left): (Matrix<'_>, &mut [f32]),
    (b, right): (Matrix<'_>, &mut [f32]),
    mut c: MatrixMut<'_>,
    add: bool,
) {
    // Tiles read full vectors, so a last panel with too few columns for that is always packed.
    let packs_all = b.column_stride != 1 || c.rows > ROW_TILES * kernel.rows();
    let in_place = if packs_all { 0 } else { c.columns / kernel.columns() * kernel.columns() };
    if in_place < c.columns {
        (kernel.pack_right)(b.column_block(in_place, c.columns - in_place), right);
    }
    for rows in cuts(c.rows, left.len() / a.columns / kernel.rows() * kernel.rows()) {
        let lefts = left_panels(kernel, a.row_block(rows.start, rows.len()), left, c.columns);
        for columns in cuts(c.columns, kernel.columns()) {
            let (right, right_step) = if columns.start < in_place {
                (&b.data[columns.start..], b.row_stride)
            } else {
                (&right[(columns.start - in_place) * a.columns..], kernel.columns())
            };
            let c = c.block(rows.clone(), columns);
            // SAFETY: the panels have the rows, the columns and the depth of this part of the result.
            unsafe { multiply_panel(kernel, lefts, (right.as_ptr(), right_step), c, a.columns, add) };
        }
    }
}

/// Panels of rows of a left factor, for so many columns of the result.
fn left_panels(kernel: &Microkernel, a: Matrix<'_>, room: &mut [f32], columns: usize) -> Panels {
    let rows = kernel.rows();
    if a.column_stride != 1 && columns > COLUMN_TILES * kernel.columns() {
        (kernel.pack_left)(a.transposed(), room);
        Panels { start: room.as_ptr(), panel: rows * a.columns, row: 1, step: rows }
    } else {
        Panels {
            start: a.data.as_ptr(),
            panel: rows * a.row_stride,
            row: a.row_stride,
            step: a.column_stride,
        }
    }
}

/// All panels of a left factor with one panel of a right one.
///
/// # Safety
/// The panels must have the rows of the result, full vectors for its columns, and the depth.
unsafe fn multiply_panel(
    kernel: &Microkernel,
    lefts: Panels,
    (right, right_step): (*const f32, usize),
    c: MatrixMut<'_>,
    depth: usize,
    add: bool,
) {
    for (panel, rows) in cuts(c.rows, kernel.rows()).enumerate() {
        let tile = Tile {
            depth,
            left: lefts.start.wrapping_add(panel * lefts.panel),
            left_row: lefts.row,
            left_step: lefts.step,
            right,
            right_step,
            result: c.start.wrapping_add(rows.start * c.row_stride),
            result_row: c.row_stride,
            columns: c.columns,
            add,
        };
        // SAFETY: the caller's promise, and the result is borrowed exclusively.
        unsafe { kernel.run(rows.len(), &tile) }
    }
}

/// Cuts an extent into pieces of a size, and a last one with what is left.
fn cuts(extent: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..extent).step_by(size).map(move |start| start..extent.min(start + size))
}
