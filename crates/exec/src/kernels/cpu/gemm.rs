//! Matrix products, behind views that are checked.
//!
//! [`gemm`] runs on the calling thread; kernels that cut their own work call it from their tasks. [`parallel_gemm`]
//! cuts the result into blocks whose sizes depend on the shapes alone, so its bits are the same for any number of
//! threads.
//!
//! Nothing is allocated, except once a thread the room to pack factors in.

#![allow(unsafe_code)]

mod blocks;
mod microkernel;
mod pack;
mod vector;

use microkernel::Microkernel;
use std::marker::PhantomData;
use std::ops::Range;

/// Blocks of a parallel product are not cut below this many multiplications.
const BLOCK_WORK: usize = 1 << 20;
/// Blocks of a parallel product are not cut below this many rows or columns; a multiple of the rows and vectors of all
/// tiles.
const BLOCK_EDGE: usize = 48;

/// A matrix that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

/// A matrix that is written. Columns are neighbours and rows do not overlap.
#[derive(Debug)]
pub(super) struct MatrixMut<'a> {
    start: *mut f32,
    rows: usize,
    columns: usize,
    row_stride: usize,
    data: PhantomData<&'a mut [f32]>,
}

/// What becomes of the contents of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accumulate {
    /// The product is added to them.
    Yes,
    /// They are not read, and replaced.
    No,
}

/// Takes what products need on the calling thread and keep; without this, the first product does it.
pub(super) fn prepare_thread() {
    pack::take_buffers();
}

/// `c = a b` or `c += a b`, on the calling thread.
pub(super) fn gemm(a: Matrix<'_>, b: Matrix<'_>, c: MatrixMut<'_>, accumulate: Accumulate) {
    check(a, b, &c);
    if c.rows == 0 || c.columns == 0 {
        return;
    }
    multiply(Microkernel::best(), a, b, c, accumulate);
}

/// The same with the microkernel given.
fn multiply(
    kernel: &Microkernel,
    a: Matrix<'_>,
    b: Matrix<'_>,
    mut c: MatrixMut<'_>,
    accumulate: Accumulate,
) {
    if a.columns == 0 {
        if accumulate == Accumulate::No {
            (0..c.rows).for_each(|row| c.row_mut(row).fill(0.0));
        }
    } else if c.columns == 1 && c.rows > 1 && c.row_stride == 1 {
        // A column that is dense is also a row.
        let row = MatrixMut { rows: 1, columns: c.rows, row_stride: c.rows, ..c };
        multiply(kernel, b.transposed(), a.transposed(), row, accumulate);
    } else if c.rows == 1 && a.column_stride == 1 && b.row_stride == 1 && b.column_stride != 1 {
        multiply_vector(kernel, a, b, c, accumulate);
    } else if c.rows == 1 && b.column_stride == 1 {
        blocks::multiply_row(kernel, a, b, c, accumulate);
    } else {
        blocks::multiply(kernel, a, b, c, accumulate);
    }
}

/// One row, where the elements of both factors that are multiplied are neighbours.
fn multiply_vector(
    kernel: &Microkernel,
    a: Matrix<'_>,
    b: Matrix<'_>,
    mut c: MatrixMut<'_>,
    accumulate: Accumulate,
) {
    let a = &a.data[..a.columns];
    for (column, result) in c.row_mut(0).iter_mut().enumerate() {
        let product = kernel.dot(a, &b.data[column * b.column_stride..][..a.len()]);
        *result = if accumulate == Accumulate::Yes { *result + product } else { product };
    }
}

/// The same on all threads of the pool it is called in.
pub(super) fn parallel_gemm(a: Matrix<'_>, b: Matrix<'_>, c: MatrixMut<'_>, accumulate: Accumulate) {
    check(a, b, &c);
    // Eight blocks keep a few threads busy; smaller ones would spend more time on the edges than they gain.
    let blocks = (c.rows * c.columns * a.columns / (64 * BLOCK_WORK)).clamp(8, 64);
    let area = (c.rows * c.columns).div_ceil(blocks);
    cut(a, b, c, accumulate, area);
}

/// Halves the longer side of the result until it has the area wanted.
fn cut(a: Matrix<'_>, b: Matrix<'_>, c: MatrixMut<'_>, accumulate: Accumulate, area: usize) {
    let work = c.rows * c.columns * a.columns;
    let half = |extent: usize| (extent / 2).next_multiple_of(BLOCK_EDGE);
    let longer = c.rows.max(c.columns);
    if c.rows * c.columns <= area || work < 2 * BLOCK_WORK || longer < 2 * BLOCK_EDGE {
        gemm(a, b, c, accumulate);
    } else if longer == c.rows {
        let at = half(c.rows);
        let (top, bottom) = c.split_at_row(at);
        let (a_top, a_bottom) = (a.row_block(0, at), a.row_block(at, a.rows - at));
        rayon::join(|| cut(a_top, b, top, accumulate, area), || cut(a_bottom, b, bottom, accumulate, area));
    } else {
        let at = half(c.columns);
        let (left, right) = c.split_at_column(at);
        let (b_left, b_right) = (b.column_block(0, at), b.column_block(at, b.columns - at));
        rayon::join(|| cut(a, b_left, left, accumulate, area), || cut(a, b_right, right, accumulate, area));
    }
}

fn check(a: Matrix<'_>, b: Matrix<'_>, c: &MatrixMut<'_>) {
    assert_eq!((a.rows, b.columns), (c.rows, c.columns), "the result has another shape than the product");
    assert_eq!(a.columns, b.rows, "the inner extents differ");
}

impl<'a> Matrix<'a> {
    /// Rows that follow one another without gaps.
    pub(super) fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows that start `row_stride` elements apart.
    pub(super) fn strided(data: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        check_extent(data.len(), rows, columns, row_stride);
        Self { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// Rows as columns.
    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of the rows.
    pub(super) fn row_block(self, first: usize, rows: usize) -> Self {
        assert!(first + rows <= self.rows);
        let start = (first * self.row_stride).min(self.data.len());
        Self { data: &self.data[start..], rows, ..self }
    }

    /// Some of the columns.
    pub(super) fn column_block(self, first: usize, columns: usize) -> Self {
        self.transposed().row_block(first, columns).transposed()
    }
}

impl<'a> MatrixMut<'a> {
    /// Rows that follow one another without gaps.
    pub(super) fn new(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows that start `row_stride` elements apart.
    pub(super) fn strided(data: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        check_extent(data.len(), rows, columns, row_stride);
        assert!(rows <= 1 || row_stride >= columns, "rows of a result must not overlap");
        Self { start: data.as_mut_ptr(), rows, columns, row_stride, data: PhantomData }
    }

    /// The rows before one, and the rest.
    pub(super) fn split_at_row(self, row: usize) -> (Self, Self) {
        assert!(row <= self.rows);
        let start = self.start.wrapping_add(row * self.row_stride);
        (Self { rows: row, ..self }, Self { start, rows: self.rows - row, ..self })
    }

    /// The columns before one, and the rest.
    pub(super) fn split_at_column(self, column: usize) -> (Self, Self) {
        assert!(column <= self.columns);
        let start = self.start.wrapping_add(column);
        (Self { columns: column, ..self }, Self { start, columns: self.columns - column, ..self })
    }

    /// Some of the rows and columns, for a while.
    fn block(&mut self, rows: Range<usize>, columns: Range<usize>) -> MatrixMut<'_> {
        assert!(rows.end <= self.rows && columns.end <= self.columns);
        let start = self.start.wrapping_add(rows.start * self.row_stride + columns.start);
        MatrixMut {
            start,
            rows: rows.len(),
            columns: columns.len(),
            row_stride: self.row_stride,
            data: PhantomData,
        }
    }

    fn row_mut(&mut self, row: usize) -> &mut [f32] {
        assert!(row < self.rows);
        // SAFETY: the row is within the view, which is an exclusive borrow of it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.row_stride), self.columns) }
    }
}

// SAFETY: a view is an exclusive borrow of its elements, and two views made by splitting share none.
unsafe impl Send for MatrixMut<'_> {}

fn check_extent(length: usize, rows: usize, columns: usize, row_stride: usize) {
    let needed = if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row_stride + columns };
    assert!(needed <= length, "{rows} x {columns} with a stride of {row_stride} exceed {length} elements");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(rows, inner, columns)`: empty, tiny, vectors, larger than one block.
    const SHAPES: [(usize, usize, usize); 8] = [
        (0, 3, 2),
        (2, 0, 3),
        (1, 1, 1),
        (3, 5, 2),
        (1, 70, 40),
        (40, 70, 1),
        (130, 65, 210),
        (600, 40, 1100),
    ];

    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919) % 23) as f32 - 11.0).collect()
    }

    fn plain(a: Matrix<'_>, b: Matrix<'_>) -> Vec<f32> {
        let at = |m: Matrix<'_>, i: usize, j: usize| m.data[i * m.row_stride + j * m.column_stride];
        let element = |i: usize| {
            let (row, column) = (i / b.columns, i % b.columns);
            (0..a.columns).map(|k| at(a, row, k) * at(b, k, column)).sum()
        };
        (0..a.rows * b.columns).map(element).collect()
    }

    #[test]
    fn products_of_whole_numbers_are_exact() {
        for (m, k, n) in SHAPES {
            let (left, right) = (numbers(m * k), numbers(k * n));
            let (a, b) = (Matrix::new(&left, m, k), Matrix::new(&right, k, n));
            let (at, bt) = (Matrix::new(&left, k, m).transposed(), Matrix::new(&right, n, k).transposed());
            for (a, b) in [(a, b), (at, b), (a, bt), (at, bt)] {
                let wanted = plain(a, b);
                for product in [gemm, parallel_gemm] {
                    let mut c = vec![f32::NAN; m * n];
                    product(a, b, MatrixMut::new(&mut c, m, n), Accumulate::No);
                    assert_eq!(c, wanted, "{m} {k} {n}");
                    product(a, b, MatrixMut::new(&mut c, m, n), Accumulate::Yes);
                    assert!(c.iter().zip(&wanted).all(|(c, w)| *c == 2.0 * w), "{m} {k} {n}");
                }
            }
        }
    }

    #[test]
    fn elements_outside_a_strided_view_stay() {
        let (left, right) = (numbers(6), numbers(8));
        let (a, b) = (Matrix::new(&left, 3, 2), Matrix::strided(&right, 2, 4, 4).column_block(1, 2));
        let mut c = [7.0; 15];
        gemm(a, b, MatrixMut::strided(&mut c[1..], 3, 2, 5), Accumulate::No);
        let wanted = plain(a, b);
        for (i, c) in c.iter().enumerate() {
            let (row, column) = (i / 5, i % 5);
            let inside = (1..3).contains(&column);
            assert_eq!(*c, if inside { wanted[row * 2 + column - 1] } else { 7.0 });
        }
    }

    /// Extents around those of tiles, panels and blocks.
    const EXTENTS: [usize; 16] = [1, 2, 3, 5, 6, 7, 8, 9, 13, 16, 17, 33, 48, 95, 130, 270];

    /// A matrix in a larger one that is otherwise NaN, and its own elements, row after row.
    fn embedded(
        random: &mut impl FnMut() -> usize,
        rows: usize,
        columns: usize,
    ) -> (Vec<f32>, usize, Vec<f32>) {
        let stride = columns + [0, 0, 1, 9][random() % 4];
        let elements: Vec<f32> = (0..rows * columns).map(|_| random() as f32 / 500.0 - 1.0).collect();
        let mut all = vec![f32::NAN; (rows - 1) * stride + columns];
        for (i, x) in elements.iter().enumerate() {
            all[i / columns * stride + i % columns] = *x;
        }
        (all, stride, elements)
    }

    /// Sums of products and of their absolute values, in float64.
    fn sums(a: Matrix<'_>, b: Matrix<'_>, row: usize, column: usize) -> (f64, f64) {
        let product = |k: usize| {
            let x = a.data[row * a.row_stride + k * a.column_stride];
            f64::from(x) * f64::from(b.data[k * b.row_stride + column * b.column_stride])
        };
        (0..a.columns).fold((0.0, 0.0), |(sum, size), k| (sum + product(k), size + product(k).abs()))
    }

    #[test]
    fn every_microkernel_is_close_to_float64() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % 1000
        };
        for case in 0..400 {
            let [m, k, n] = [0; 3].map(|_| EXTENTS[random() % EXTENTS.len()]);
            let k = if case % 10 == 0 { 2 * k + 200 } else { k };
            let [left_turned, right_turned] = [0; 2].map(|_| random() % 2 == 1);
            let mut view = |rows, columns, turned| {
                let (rows, columns) = if turned { (columns, rows) } else { (rows, columns) };
                (embedded(&mut random, rows, columns), rows, columns, turned)
            };
            let (left, right) = (view(m, k, left_turned), view(k, n, right_turned));
            let [a, b] = [&left, &right].map(|((all, stride, _), rows, columns, turned)| {
                let matrix = Matrix::strided(all, *rows, *columns, *stride);
                if *turned { matrix.transposed() } else { matrix }
            });
            let (before, stride, _) = embedded(&mut random, m, n);
            for (kernel, accumulate) in
                Microkernel::all().into_iter().flat_map(|k| [(k, Accumulate::No), (k, Accumulate::Yes)])
            {
                let mut c = before.clone();
                multiply(kernel, a, b, MatrixMut::strided(&mut c, m, n, stride), accumulate);
                for (i, (c, before)) in c.iter().zip(&before).enumerate() {
                    if i % stride >= n {
                        assert!(c.is_nan(), "written outside");
                        continue;
                    }
                    let (mut sum, mut size) = sums(a, b, i / stride, i % stride);
                    if accumulate == Accumulate::Yes {
                        sum += f64::from(*before);
                        size += f64::from(before.abs());
                    }
                    let bound = f64::from(f32::EPSILON) * (k as f64).sqrt() * size + 1e-7;
                    let error = (f64::from(*c) - sum).abs();
                    assert!(error <= bound, "{m} x {k} x {n}: {c} for {sum}, {kernel:?} {accumulate:?}");
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_threads_or_tiles() {
        let (m, k, n) = (390, 300, 500);
        let data = |count: usize| (0..count).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<f32>>();
        let (left, right) = (data(m * k), data(k * n));
        let (a, b) = (Matrix::new(&left, k, m).transposed(), Matrix::new(&right, k, n));
        let mut alone = vec![0.0; m * n];
        gemm(a, b, MatrixMut::new(&mut alone, m, n), Accumulate::No);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut c = vec![0.0; m * n];
            pool.install(|| parallel_gemm(a, b, MatrixMut::new(&mut c, m, n), Accumulate::No));
            assert!(c == alone, "{threads} threads");
        }
    }

    #[test]
    #[should_panic(expected = "exceed")]
    fn views_outside_their_slice_are_refused() {
        Matrix::strided(&[0.0; 10], 3, 2, 5);
    }
}
