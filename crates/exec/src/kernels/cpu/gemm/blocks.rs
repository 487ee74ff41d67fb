//! The loops around the microkernel, as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", and BLIS.
//!
//! A block of the right factor is packed and stays in the second-level cache or near it; for each block of rows of the left factor, a panel
//! of it after another is held in the first-level cache and multiplied with all rows. All sizes are constants: the sums and their order
//! depend on shapes alone.

use super::microkernel::{Microkernel, Tile};
use super::{Accumulate, Matrix, MatrixMut, pack};
use std::ops::Range;

/// The most products that are summed in registers: a panel this deep takes half of the first-level cache.
const DEPTH: usize = 256;
/// A right factor is not packed for fewer tiles of rows than this: it would hardly be read again.
const ROW_TILES_TO_PACK: usize = 4;
/// A left factor with distant elements is not packed for fewer tiles of columns than this.
const COLUMN_TILES_TO_PACK: usize = 2;

/// Panels of a factor, packed or where they are.
#[derive(Clone, Copy, Debug)]
struct Panels {
    start: *const f32,
    /// From one panel to the next.
    panel: usize,
    /// From one row of a left factor, or column of a right one, to the next.
    line: usize,
    /// From one step of the depth to the next.
    step: usize,
}

/// `c = a b` or `c += a b`, for a depth that is not zero.
pub(super) fn multiply(
    kernel: &Microkernel,
    a: Matrix<'_>,
    b: Matrix<'_>,
    c: MatrixMut<'_>,
    accumulate: Accumulate,
) {
    let depth = a.columns.div_ceil(a.columns.div_ceil(DEPTH)).next_multiple_of(4);
    let width = pack::RIGHT / depth / kernel.columns() * kernel.columns();
    pack::with_buffers(|left, right| {
        for columns in cuts(b.columns, width) {
            for steps in cuts(a.columns, depth) {
                let add = accumulate == Accumulate::Yes || steps.start > 0;
                let a = a.column_block(steps.start, steps.len());
                let b = b.row_block(steps.start, steps.len()).column_block(columns.start, columns.len());
                // SAFETY: the columns are within the result.
                let start = unsafe { c.start.add(columns.start) };
                let c = MatrixMut { start, columns: columns.len(), ..c };
                multiply_block(kernel, (a, left), (b, right), c, add);
            }
        }
    });
}

/// The same for a right factor that can be packed whole, with room to pack beside each factor.
fn multiply_block(
    kernel: &Microkernel,
    (a, left): (Matrix<'_>, &mut [f32]),
    (b, right): (Matrix<'_>, &mut [f32]),
    c: MatrixMut<'_>,
    add: bool,
) {
    let (rows, columns) = (kernel.rows(), kernel.columns());
    let whole = c.columns / columns * columns;
    let packs_right = b.column_stride != 1 || c.rows > ROW_TILES_TO_PACK * rows;
    let first_packed = if packs_right { 0 } else { whole };
    (kernel.pack_right)(b.column_block(first_packed, c.columns - first_packed), right);
    let packs_left = a.column_stride != 1 && c.columns > COLUMN_TILES_TO_PACK * columns;
    for block in cuts(c.rows, pack::LEFT / a.columns / rows * rows) {
        let a = a.row_block(block.start, block.len());
        let lefts = if packs_left {
            (kernel.pack_left)(a.transposed(), left);
            Panels { start: left.as_ptr(), panel: rows * a.columns, line: 1, step: rows }
        } else {
            Panels {
                start: a.data.as_ptr(),
                panel: rows * a.row_stride,
                line: a.row_stride,
                step: a.column_stride,
            }
        };
        // SAFETY: the rows are within the result.
        let start = unsafe { c.start.add(block.start * c.row_stride) };
        for column in (0..c.columns).step_by(columns) {
            let (right, right_step) = if column < first_packed {
                (b.data.as_ptr().wrapping_add(column), b.row_stride)
            } else {
                (right.as_ptr().wrapping_add((column - first_packed) * a.columns), columns)
            };
            let tile = Tile {
                depth: a.columns,
                left: lefts.start,
                left_row: lefts.line,
                left_step: lefts.step,
                right,
                right_step,
                result: start.wrapping_add(column),
                result_row: c.row_stride,
                columns: columns.min(c.columns - column),
                add,
            };
            // SAFETY: checked by the views.
            unsafe { multiply_panel(kernel, tile, lefts.panel, block.len()) };
        }
    }
}

/// A panel of the right factor with all rows of a block.
unsafe fn multiply_panel(kernel: &Microkernel, mut tile: Tile, panel: usize, rows: usize) {
    for row in (0..rows).step_by(kernel.rows()) {
        // SAFETY: the caller's promise.
        unsafe { kernel.run(kernel.rows().min(rows - row), &tile) };
        tile.left = tile.left.wrapping_add(panel);
        tile.result = tile.result.wrapping_add(kernel.rows() * tile.result_row);
    }
}

/// Cuts an extent into pieces of a size, and a last one with what is left.
fn cuts(extent: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..extent).step_by(size).map(move |start| start..extent.min(start + size))
}
