//! A batch of images as the matrix that a convolution multiplies: one row an output pixel, one column an element of the
//! window. Only the part asked for is ever made, in a buffer that fits the cache.

use super::gemm::Matrix;
use plimsoll_graph::op::Geometry;
use std::ops::Range;

/// Images and the window that slides over them.
#[derive(Clone, Copy)]
pub(super) struct Patches<'a> {
    /// The images, NHWC.
    pub(super) images: &'a [f32],
    /// How the window slides.
    pub(super) geometry: Geometry,
    /// How many channels the images have.
    pub(super) channels: usize,
    /// How many of them one group takes.
    pub(super) per_group: usize,
}

impl<'a> Patches<'a> {
    /// How many columns the matrix of one group has.
    pub(super) fn width(&self) -> usize {
        self.geometry.window[0] * self.geometry.window[1] * self.per_group
    }

    /// A part of one group's matrix. Where the images are the matrix, this is a view of them; else it is made in the
    /// buffer.
    pub(super) fn part<'b>(
        &self,
        group: usize,
        pixels: Range<usize>,
        columns: Range<usize>,
        buffer: &'b mut [f32],
    ) -> Matrix<'b>
    where
        'a: 'b,
    {
        if is_pointwise(&self.geometry) {
            let all = &self.images[pixels.start * self.channels..pixels.end * self.channels];
            let matrix = Matrix::new(all, pixels.len(), self.channels);
            return matrix.column_block(group * self.per_group + columns.start, columns.len());
        }
        let buffer = &mut buffer[..pixels.len() * columns.len()];
        let (rows, width) = (pixels.len(), columns.len());
        self.copy(group, pixels, columns, buffer);
        Matrix::new(buffer, rows, width)
    }

    fn copy(&self, group: usize, pixels: Range<usize>, columns: Range<usize>, to: &mut [f32]) {
        let [rows, per_row] = self.geometry.output;
        for (pixel, to) in pixels.zip(to.chunks_exact_mut(columns.len())) {
            let (line, x) = (pixel / per_row, pixel % per_row);
            self.copy_patch(group, [line / rows, line % rows, x], columns.clone(), to);
        }
    }

    /// A run is what lies together both in the image and in the patch: a whole row of the window, unless it is dilated
    /// or some channels do not take part.
    fn copy_patch(&self, group: usize, [image, y, x]: [usize; 3], columns: Range<usize>, mut to: &mut [f32]) {
        let geometry = &self.geometry;
        let width = geometry.window[1];
        let whole_rows = geometry.dilation[1] == 1 && self.per_group == self.channels;
        let (runs, run) = if whole_rows { (1, width * self.per_group) } else { (width, self.per_group) };
        let line_length = geometry.input[1] * self.channels;
        let mut column = columns.start;
        while column < columns.end {
            let (index, offset) = (column / run, column % run);
            let (ky, kx) = (index / runs, index % runs);
            let length = (run - offset).min(columns.end - column);
            let (piece, rest) = to.split_at_mut(length);
            match geometry.source(0, y, ky) {
                None => piece.fill(0.0),
                Some(row) => {
                    let line = &self.images[(image * geometry.input[0] + row) * line_length..][..line_length];
                    let pixel = (x * geometry.strides[1] + kx * geometry.dilation[1]) as isize;
                    let start = (pixel - geometry.before[1] as isize) * self.channels as isize;
                    copy_clipped(line, start + (group * self.per_group + offset) as isize, piece);
                }
            }
            to = rest;
            column += length;
        }
    }
}

/// Whether every output pixel reads just its own input pixel.
pub(super) fn is_pointwise(geometry: &Geometry) -> bool {
    geometry.window == [1, 1] && geometry.strides == [1, 1] && geometry.input == geometry.output
}

/// The output row or column whose window element `k` reads an input row or column, if there is one.
#[inline]
pub(super) fn reader(geometry: &Geometry, axis: usize, input: usize, k: usize) -> Option<usize> {
    let position = (input + geometry.before[axis]).checked_sub(k * geometry.dilation[axis])?;
    let output = position / geometry.strides[axis];
    (output * geometry.strides[axis] == position && output < geometry.output[axis]).then_some(output)
}

/// Copies what begins at `start` of a line; what is outside the line is 0.
fn copy_clipped(line: &[f32], start: isize, to: &mut [f32]) {
    let length = to.len() as isize;
    let first = (-start).clamp(0, length);
    let end = (line.len() as isize - start).clamp(first, length);
    to[..first as usize].fill(0.0);
    to[end as usize..].fill(0.0);
    if first < end {
        let from = &line[(start + first) as usize..(start + end) as usize];
        to[first as usize..end as usize].copy_from_slice(from);
    }
}
