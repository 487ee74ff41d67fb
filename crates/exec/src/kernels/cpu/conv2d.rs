//! The CPU kernels of convolution: products of patches with the filter, tile by tile.

use super::gemm::{Accumulate, Matrix, MatrixMut, gemm, parallel_gemm};
use super::patches::{Patches, is_pointwise};
use super::workers::{add_partials, even_pieces, for_each};
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::op::{Conv2d, Conv2dFilterGradient};
use plimsoll_graph::{Shape, TensorType};
use std::ops::Range;

/// At most so many pixels and so many patch elements are gathered at a time: about half of a second-level cache.
const TILE_PIXELS: usize = 256;
const TILE_COLUMNS: usize = 768;
/// About so many tasks share a filter gradient.
const TASKS: usize = 8;
/// Partial filter gradients take at most so many floats of scratch together.
const PARTIALS: usize = 1 << 20;
/// Fewer rows of a filter gradient make slow products.
const LEAST_ROWS: usize = 64;

impl CpuKernel for Conv2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, filter], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let patches = patches(self, x.f32(), x.tensor(), window(filter.shape()));
        let (f, pixels) = (y.shape().last(), y.shape().rows());
        let width = patches.width();
        let filter = Matrix::new(filter.f32(), width, f);
        if is_pointwise(&patches.geometry) && self.groups == 1 {
            let images = Matrix::new(patches.images, pixels, width);
            parallel_gemm(images, filter, MatrixMut::new(y.f32(), pixels, f), Accumulate::No);
            return Ok(());
        }
        let [tile, block] = tile_extents(pixels, width);
        let tiles = y.f32().chunks_mut((tile * f).max(1)).enumerate();
        for_each(tiles, call.scratch, tile * block, |(index, y), buffer| {
            let first = index * tile;
            convolve(self, &patches, filter, first..first + y.len() / f, y, buffer);
        });
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let (x, filter) = (&types.inputs[0], &types.inputs[1].shape);
        let patches = patches(self, &[], x, window(filter));
        let [tile, block] = tile_extents(types.outputs[0].shape.rows(), patches.width());
        match is_pointwise(&patches.geometry) && self.groups == 1 {
            true => 0,
            false => types.lanes * tile * block,
        }
    }
}

/// One tile of output pixels; long patches are gathered block by block.
fn convolve(
    op: &Conv2d,
    patches: &Patches<'_>,
    filter: Matrix<'_>,
    pixels: Range<usize>,
    y: &mut [f32],
    buffer: &mut [f32],
) {
    let width = patches.width();
    let f = y.len() / pixels.len();
    let per_group = f / op.groups;
    let block = even_pieces(width, TILE_COLUMNS);
    for group in 0..op.groups {
        let filter = filter.column_block(group * per_group, per_group);
        for first in (0..width).step_by(block) {
            let columns = first..(first + block).min(width);
            let filter = filter.row_block(first, columns.len());
            let part = patches.part(group, pixels.clone(), columns, buffer);
            let y = MatrixMut::strided(&mut y[group * per_group..], pixels.len(), per_group, f);
            gemm(part, filter, y, if first == 0 { Accumulate::No } else { Accumulate::Yes });
        }
    }
}

impl CpuKernel for Conv2dFilterGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, dy], [dfilter]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let patches = patches(&self.conv, x.f32(), x.tensor(), self.window);
        let (f, pixels) = (dy.shape().last(), dy.shape().rows());
        let cut = GradientCut::new(&patches, pixels, f);
        let (partials, buffers) = call.scratch.split_at_mut((cut.parts - 1) * patches.width() * f);
        let gradient = Gradient { patches, dy: dy.f32(), pixels, f, groups: self.conv.groups, cut };
        // The first partial sum is the result itself.
        let sums = std::iter::once(dfilter.f32()).chain(partials.chunks_mut((patches.width() * f).max(1)));
        let blocks = sums.enumerate().flat_map(|(part, sum)| {
            sum.chunks_mut((cut.block * f).max(1)).enumerate().map(move |(block, rows)| (part, block, rows))
        });
        for_each(blocks, buffers, cut.buffer, |(part, block, rows), buffer| {
            gradient.accumulate(part, block, rows, buffer);
        });
        add_partials(dfilter.f32(), partials);
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let (x, dy) = (&types.inputs[0], &types.inputs[1].shape);
        let patches = patches(&self.conv, &[], x, self.window);
        let cut = GradientCut::new(&patches, dy.rows(), dy.last());
        (cut.parts - 1) * patches.width() * dy.last() + types.lanes * cut.buffer
    }
}

/// How a filter gradient is cut into tasks: into parts of the pixels, each with a partial sum, as long as the filter is
/// small; into blocks of the filter's rows where that does not make enough of them.
#[derive(Clone, Copy)]
struct GradientCut {
    parts: usize,
    /// Rows of the filter a task.
    block: usize,
    /// Pixels that are gathered at a time.
    tile: usize,
    /// The floats a task gathers into; one at least, since the buffers also say how many tasks may run at a time.
    buffer: usize,
}

impl GradientCut {
    fn new(patches: &Patches<'_>, pixels: usize, f: usize) -> Self {
        let width = patches.width();
        let most = (pixels / TILE_PIXELS).clamp(1, TASKS);
        let parts = (PARTIALS / (width * f).max(1)).clamp(1, most);
        let block = even_pieces(width, width.div_ceil(TASKS.div_ceil(parts)).clamp(LEAST_ROWS, TILE_COLUMNS));
        let part = pixels.div_ceil(parts);
        let pointwise = is_pointwise(&patches.geometry);
        let tile = if pointwise { part.max(1) } else { even_pieces(part, TILE_PIXELS) };
        Self { parts, block, tile, buffer: if pointwise { 1 } else { tile * block } }
    }
}

/// A filter gradient under way.
struct Gradient<'a> {
    patches: Patches<'a>,
    dy: &'a [f32],
    pixels: usize,
    f: usize,
    groups: usize,
    cut: GradientCut,
}

impl Gradient<'_> {
    /// Some rows of the sum over one part of the pixels.
    fn accumulate(&self, part: usize, block: usize, rows: &mut [f32], buffer: &mut [f32]) {
        let per_part = self.pixels.div_ceil(self.cut.parts);
        let (first, end) = ((part * per_part).min(self.pixels), ((part + 1) * per_part).min(self.pixels));
        if first == end {
            rows.fill(0.0);
        }
        let first_row = block * self.cut.block;
        let height = rows.len() / self.f;
        let per_group = self.f / self.groups;
        for start in (first..end).step_by(self.cut.tile) {
            let tile = start..(start + self.cut.tile).min(end);
            let dy = Matrix::new(&self.dy[tile.start * self.f..tile.end * self.f], tile.len(), self.f);
            let accumulate = if start == first { Accumulate::No } else { Accumulate::Yes };
            for group in 0..self.groups {
                let dy = dy.column_block(group * per_group, per_group);
                let part = self.patches.part(group, tile.clone(), first_row..first_row + height, buffer);
                let rows = MatrixMut::strided(&mut rows[group * per_group..], height, per_group, self.f);
                gemm(part.transposed(), dy, rows, accumulate);
            }
        }
    }
}

fn patches<'a>(op: &Conv2d, images: &'a [f32], x: &TensorType, window: [usize; 2]) -> Patches<'a> {
    let channels = x.shape.last();
    Patches { images, geometry: op.geometry(x, window), channels, per_group: channels / op.groups }
}

fn window(filter: &Shape) -> [usize; 2] {
    [filter[0], filter[1]]
}

/// Pixels and patch elements that are gathered at a time. Small images still make several tiles.
fn tile_extents(pixels: usize, width: usize) -> [usize; 2] {
    let limit = pixels.div_ceil(4).clamp(64, TILE_PIXELS);
    [even_pieces(pixels, limit), even_pieces(width, TILE_COLUMNS)]
}
