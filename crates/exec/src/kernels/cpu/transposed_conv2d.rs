//! The CPU kernel of transposed convolution.
//!
//! Every result pixel gathers what contributes to it, so no two tasks write the same pixel. Pixels whose coordinates
//! leave the same remainders modulo the strides get contributions from the same window elements; they are worked on
//! together.

use super::gemm::{Accumulate, Matrix, MatrixMut, gemm, parallel_gemm};
use super::patches::{is_pointwise, reader};
use super::workers::{even_pieces, for_each};
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::op::{Geometry, TransposedConv2d};
use plimsoll_graph::{Shape, TensorType};

/// So many pixels are worked on at a time.
const TILE_PIXELS: usize = 256;

impl CpuKernel for TransposedConv2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, filter], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let geometry = geometry(self, &filter.tensor().shape);
        let (f, c) = (x.shape().last(), y.shape().last());
        if is_pointwise(&geometry) && self.conv.groups == 1 {
            let pixels = y.shape().rows();
            let images = Matrix::new(x.f32(), pixels, f);
            let filter = Matrix::new(filter.f32(), c, f).transposed();
            parallel_gemm(images, filter, MatrixMut::new(y.f32(), pixels, c), Accumulate::No);
            return Ok(());
        }
        let gather = Gather { x: x.f32(), filter: filter.f32(), geometry, f, c, groups: self.conv.groups };
        let lines = y.shape()[0] * geometry.input[0];
        let band = lines_per_band(&geometry, lines);
        let bands = y.f32().chunks_mut((band * geometry.input[1] * c).max(1)).enumerate();
        for_each(bands, call.scratch, buffer(f, c, self.conv.groups), |(index, y), buffer| {
            gather.band(index * band, y, buffer);
        });
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let [x, filter]: &[TensorType; 2] =
            types.inputs.try_into().expect("the shape rule has checked the inputs");
        match is_pointwise(&geometry(self, &filter.shape)) && self.conv.groups == 1 {
            true => 0,
            false => types.lanes * buffer(x.shape.last(), types.outputs[0].shape.last(), self.conv.groups),
        }
    }
}

/// The floats of one thread: gathered pixels of one group, and sums of all groups.
fn buffer(f: usize, c: usize, groups: usize) -> usize {
    TILE_PIXELS * (f / groups + c)
}

fn geometry(op: &TransposedConv2d, filter: &Shape) -> Geometry {
    op.conv.sliding.over(op.size, [filter[0], filter[1]]).expect("the shape rule has accepted these types")
}

/// How many lines of result pixels make a task: enough to fill a tile with pixels of the same remainders.
fn lines_per_band(geometry: &Geometry, lines: usize) -> usize {
    let pixels = TILE_PIXELS * geometry.strides[0] * geometry.strides[1];
    let limit = (pixels / geometry.input[1].max(1)).max(1);
    even_pieces(lines, limit.min(lines.div_ceil(4).max(geometry.strides[0])))
}

/// A result pixel: its image, row and column, and its position in the band.
type Pixel = ([usize; 3], usize);

/// A transposed convolution under way.
struct Gather<'a> {
    x: &'a [f32],
    filter: &'a [f32],
    geometry: Geometry,
    f: usize,
    c: usize,
    groups: usize,
}

impl Gather<'_> {
    /// A band of lines of result pixels.
    fn band(&self, first_line: usize, y: &mut [f32], buffer: &mut [f32]) {
        let [rows, columns] = self.geometry.input;
        let lines = y.len() / (columns * self.c);
        let [row_step, column_step] = self.geometry.strides;
        let mut tile = [([0; 3], 0); TILE_PIXELS];
        for (row_rest, column_rest) in (0..row_step).flat_map(|r| (0..column_step).map(move |c| (r, c))) {
            let mut count = 0;
            for line in 0..lines {
                let (image, row) = ((first_line + line) / rows, (first_line + line) % rows);
                if row % row_step != row_rest {
                    continue;
                }
                for column in (column_rest..columns).step_by(column_step) {
                    tile[count] = ([image, row, column], line * columns + column);
                    count += 1;
                    if count == TILE_PIXELS {
                        self.tile(&tile, y, buffer);
                        count = 0;
                    }
                }
            }
            self.tile(&tile[..count], y, buffer);
        }
    }

    /// Pixels that all get contributions from the same window elements.
    fn tile(&self, pixels: &[Pixel], y: &mut [f32], buffer: &mut [f32]) {
        let Some(&([_, row, column], _)) = pixels.first() else { return };
        let (gathered, sums) = buffer.split_at_mut(TILE_PIXELS * (self.f / self.groups));
        let sums = &mut sums[..pixels.len() * self.c];
        let mut accumulate = Accumulate::No;
        let [rows, columns] = self.geometry.window;
        for ky in (0..rows).filter(|&ky| self.meets(0, row, ky)) {
            for kx in (0..columns).filter(|&kx| self.meets(1, column, kx)) {
                for group in 0..self.groups {
                    self.add_contribution([ky, kx, group], pixels, gathered, sums, accumulate);
                }
                accumulate = Accumulate::Yes;
            }
        }
        if accumulate == Accumulate::No {
            sums.fill(0.0);
        }
        for (&(_, position), sum) in pixels.iter().zip(sums.chunks_exact(self.c)) {
            y[position * self.c..][..self.c].copy_from_slice(sum);
        }
    }

    /// Whether a window element ever meets an image position with this remainder modulo the stride.
    fn meets(&self, axis: usize, position: usize, k: usize) -> bool {
        let Geometry { strides, dilation, before, .. } = self.geometry;
        (position + before[axis]) % strides[axis] == k * dilation[axis] % strides[axis]
    }

    /// What one window element and group contribute.
    fn add_contribution(
        &self,
        [ky, kx, group]: [usize; 3],
        pixels: &[Pixel],
        gathered: &mut [f32],
        sums: &mut [f32],
        accumulate: Accumulate,
    ) {
        let (filters, channels) = (self.f / self.groups, self.c / self.groups);
        let gathered = &mut gathered[..pixels.len() * filters];
        for (&([image, row, column], _), to) in pixels.iter().zip(gathered.chunks_exact_mut(filters)) {
            match self.source(image, [row, column], [ky, kx]) {
                Some(pixel) => to.copy_from_slice(&self.x[pixel * self.f + group * filters..][..filters]),
                None => to.fill(0.0),
            }
        }
        let element = ky * self.geometry.window[1] + kx;
        let filter = &self.filter[element * channels * self.f..][..channels * self.f];
        let filter = Matrix::new(filter, channels, self.f).column_block(group * filters, filters);
        let sums = MatrixMut::strided(&mut sums[group * channels..], pixels.len(), channels, self.c);
        gemm(Matrix::new(gathered, pixels.len(), filters), filter.transposed(), sums, accumulate);
    }

    fn source(&self, image: usize, [row, column]: [usize; 2], [ky, kx]: [usize; 2]) -> Option<usize> {
        let (y, x) = (reader(&self.geometry, 0, row, ky)?, reader(&self.geometry, 1, column, kx)?);
        Some((image * self.geometry.output[0] + y) * self.geometry.output[1] + x)
    }
}
