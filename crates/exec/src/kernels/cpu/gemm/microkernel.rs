//! The innermost loops: a few rows times a few columns, with all sums in registers, compiled for each instruction set.
//!
//! An element of a tile is a sum in the order of the depth, whatever the tile's extents. So the extents of tiles do not
//! change bits, and instruction sets with a fused multiply-add all give the same.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;

use super::pack;
use super::vector::{Portable, Vector};

/// A part of the result that is computed in registers, and its factors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// How many products make an element.
    pub depth: usize,
    /// The left factor, the distance of its rows, and from one step of the depth to the next.
    pub left: *const f32,
    pub left_row: usize,
    pub left_step: usize,
    /// The right factor, whose columns are neighbours: full vectors of them can be read.
    pub right: *const f32,
    pub right_step: usize,
    /// The result and the distance of its rows.
    pub result: *mut f32,
    pub result_row: usize,
    /// How many columns are written.
    pub columns: usize,
    /// Whether the products are added to what is there.
    pub add: bool,
}

/// The innermost loops for one instruction set.
#[derive(Debug)]
pub(super) struct Microkernel {
    /// The lanes of a vector.
    pub lanes: usize,
    /// For each number of rows from 1: tiles of one vector, and of two.
    tiles: &'static [[unsafe fn(&Tile); 2]],
    /// A tile of one row and any number of columns.
    row: unsafe fn(&Tile),
    /// The dot product of two vectors of so many elements.
    dot: unsafe fn(*const f32, *const f32, usize) -> f32,
    /// Packs what tiles read as the left factor.
    pub pack_left: pack::Pack,
    /// Packs what tiles read as the right factor.
    pub pack_right: pack::Pack,
}

impl Microkernel {
    /// The fastest that this processor can run.
    pub(super) fn best() -> &'static Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return &AVX512;
            }
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return &AVX2;
            }
        }
        &PORTABLE
    }

    /// All that this processor can run.
    #[cfg(test)]
    pub(super) fn all() -> Vec<&'static Self> {
        let mut all = vec![&PORTABLE, &WIDE];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            all.push(&AVX2);
        }
        if !std::ptr::eq(Self::best(), all[all.len() - 1]) {
            all.push(Self::best());
        }
        all
    }

    /// The rows of a full tile.
    pub(super) fn rows(&self) -> usize {
        self.tiles.len()
    }

    /// The columns of a full tile.
    pub(super) fn columns(&self) -> usize {
        2 * self.lanes
    }

    /// Computes a tile of so many rows.
    ///
    /// # Safety
    /// The addresses of the tile must be good for its extents, and nobody else reads or writes its result.
    pub(super) unsafe fn run(&self, rows: usize, tile: &Tile) {
        let vectors = tile.columns.div_ceil(self.lanes);
        // SAFETY: only microkernels that the processor can run are handed out.
        unsafe { self.tiles[rows - 1][vectors - 1](tile) }
    }

    /// Computes a single row of any number of columns.
    ///
    /// # Safety
    /// As for [`Self::run`], but no column beyond the last is read.
    pub(super) unsafe fn run_row(&self, tile: &Tile) {
        // SAFETY: only microkernels that the processor can run are handed out.
        unsafe { (self.row)(tile) }
    }

    /// The dot product.
    pub(super) fn dot(&self, a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        // SAFETY: only microkernels that the processor can run are handed out, and both have the elements.
        unsafe { (self.dot)(a.as_ptr(), b.as_ptr(), a.len()) }
    }
}

/// Tiles of each number of rows.
macro_rules! tiles {
    ($multiply:ident: $($rows:literal)*) => { &[$([$multiply::<$rows, 1>, $multiply::<$rows, 2>]),*] };
}

/// Sixteen vectors of four floats, as SSE has them: twelve sums.
static PORTABLE: Microkernel = Microkernel {
    lanes: 4,
    tiles: tiles!(portable: 1 2 3 4 5 6),
    row: row::<Portable>,
    dot: dot::<Portable>,
    pack_left: pack::pack::<6>,
    pack_right: pack::pack::<8>,
};

/// Sixteen vectors of eight floats: twelve sums.
#[cfg(target_arch = "x86_64")]
static AVX2: Microkernel = Microkernel {
    lanes: 8,
    tiles: tiles!(avx2: 1 2 3 4 5 6),
    row: avx2_row,
    dot: avx2_dot,
    pack_left: pack::pack::<6>,
    pack_right: pack::pack::<16>,
};

/// Thirty-two vectors of sixteen floats: twenty-four sums.
#[cfg(target_arch = "x86_64")]
static AVX512: Microkernel = Microkernel {
    lanes: 16,
    tiles: tiles!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12),
    row: avx512_row,
    dot: avx512_dot,
    pack_left: pack::pack::<12>,
    pack_right: pack::pack::<32>,
};

/// Tiles of AVX-512's extents on any processor, so that cutting and packing for them is tested everywhere.
#[cfg(test)]
static WIDE: Microkernel = Microkernel {
    lanes: 16,
    tiles: tiles!(wide: 1 2 3 4 5 6 7 8 9 10 11 12),
    row: row::<[f32; 16]>,
    dot: dot::<[f32; 16]>,
    pack_left: pack::pack::<12>,
    pack_right: pack::pack::<32>,
};

#[cfg(test)]
unsafe fn wide<const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { multiply::<[f32; 16], ROWS, VECTORS>(tile) }
}

unsafe fn portable<const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { multiply::<Portable, ROWS, VECTORS>(tile) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { multiply::<x86::__m256, ROWS, VECTORS>(tile) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { multiply::<x86::__m512, ROWS, VECTORS>(tile) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_row(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { row::<x86::__m256>(tile) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2_dot(a: *const f32, b: *const f32, length: usize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe { dot::<x86::__m256>(a, b, length) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512_row(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { row::<x86::__m512>(tile) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512_dot(a: *const f32, b: *const f32, length: usize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe { dot::<x86::__m512>(a, b, length) }
}

/// A tile of so many rows, and at most so many vectors.
///
/// # Safety
/// As for [`Microkernel::run`], on a processor that has such vectors.
#[inline(always)]
unsafe fn multiply<V: Vector, const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    // SAFETY: the caller promises that all rows and columns of the tile are there.
    unsafe {
        let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
        let (mut left, mut right) = (tile.left, tile.right);
        for _ in 0..tile.depth {
            let mut factors = [V::splat(0.0); VECTORS];
            for (j, factor) in factors.iter_mut().enumerate() {
                *factor = V::load(right.add(j * V::LANES));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let a = V::splat(*left.add(i * tile.left_row));
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    *sum = a.mul_add(factor, *sum);
                }
            }
            // Wrapping, as the last step may leave the matrix.
            left = left.wrapping_add(tile.left_step);
            right = right.wrapping_add(tile.right_step);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, &sum) in sums.iter().enumerate() {
                let at = tile.result.add(i * tile.result_row + j * V::LANES);
                write(sum, at, tile.columns - j * V::LANES, tile.add);
            }
        }
    }
}

/// Writes the lanes of a sum for which there are columns, or adds them to what is there.
#[inline(always)]
unsafe fn write<V: Vector>(sum: V, to: *mut f32, columns: usize, add: bool) {
    // SAFETY: the caller has the columns.
    unsafe {
        if columns >= V::LANES {
            if add { V::load(to).add(sum).store(to) } else { sum.store(to) }
        } else {
            let sum = if add { V::load_some(to, columns).add(sum) } else { sum };
            sum.store_some(to, columns);
        }
    }
}

/// A single row, where the right factor is read once: row after row, some at a time.
///
/// # Safety
/// As for [`Microkernel::run_row`], on a processor that has such vectors.
#[inline(always)]
unsafe fn row<V: Vector>(tile: &Tile) {
    const STEPS: usize = 8;
    let mut tile = *tile;
    while tile.depth > 0 {
        let steps = if tile.depth >= STEPS { STEPS } else { 1 };
        // SAFETY: the caller promises all the depth.
        unsafe { if steps == STEPS { row_steps::<V, STEPS>(&tile) } else { row_steps::<V, 1>(&tile) } }
        tile.left = tile.left.wrapping_add(steps * tile.left_step);
        tile.right = tile.right.wrapping_add(steps * tile.right_step);
        tile.depth -= steps;
        tile.add = true;
    }
}

/// The first steps of the depth of a single row.
#[inline(always)]
unsafe fn row_steps<V: Vector, const STEPS: usize>(tile: &Tile) {
    // SAFETY: the caller promises so many steps, and all columns.
    unsafe {
        let mut lefts = [V::splat(0.0); STEPS];
        for (step, left) in lefts.iter_mut().enumerate() {
            *left = V::splat(*tile.left.add(step * tile.left_step));
        }
        let mut column = 0;
        while column < tile.columns {
            let count = (tile.columns - column).min(V::LANES);
            let whole = count == V::LANES;
            let load = |from| if whole { V::load(from) } else { V::load_some(from, count) };
            let to = tile.result.add(column);
            let mut sum = if tile.add { load(to.cast_const()) } else { V::splat(0.0) };
            for (step, left) in lefts.iter().enumerate() {
                sum = left.mul_add(load(tile.right.add(step * tile.right_step + column)), sum);
            }
            if whole {
                sum.store(to)
            } else {
                sum.store_some(to, count)
            }
            column += count;
        }
    }
}

/// # Safety
/// Both must have so many elements, and the processor such vectors.
#[inline(always)]
unsafe fn dot<V: Vector>(a: *const f32, b: *const f32, length: usize) -> f32 {
    /// Independent sums, to hide how long an addition takes.
    const SUMS: usize = 4;
    // SAFETY: nothing is read beyond the length.
    unsafe {
        let mut sums = [V::splat(0.0); SUMS];
        let mut at = 0;
        while at + SUMS * V::LANES <= length {
            for (j, sum) in sums.iter_mut().enumerate() {
                let at = at + j * V::LANES;
                *sum = V::load(a.add(at)).mul_add(V::load(b.add(at)), *sum);
            }
            at += SUMS * V::LANES;
        }
        while at < length {
            let count = (length - at).min(V::LANES);
            let factors = (V::load_some(a.add(at), count), V::load_some(b.add(at), count));
            sums[0] = factors.0.mul_add(factors.1, sums[0]);
            at += count;
        }
        let mut lanes = [0.0; 16];
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).store(lanes.as_mut_ptr());
        lanes.iter().sum()
    }
}
