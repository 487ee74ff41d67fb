//! The CPU kernels of depthwise convolution. The innermost loops run over channels, which lie together.

use super::patches::reader;
use super::wide::wide;
use super::workers::{add_partials, for_each};
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::op::{
    DepthwiseConv2d, DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient, Geometry, Sliding,
};
use rayon::prelude::*;

/// So many channels are summed side by side, in registers.
const LANES: usize = 32;
/// So many products of one sum are looked up before they are added.
const PRODUCTS: usize = 64;
/// So many tasks share a filter gradient, each with a partial sum.
const TASKS: usize = 16;

impl CpuKernel for DepthwiseConv2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, filter], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let c = x.shape().last();
        let geometry =
            geometry(self.sliding, [x.shape()[1], x.shape()[2]], [filter.shape()[0], filter.shape()[1]]);
        let (x, filter, f) = (x.f32(), filter.f32(), y.shape().last());
        let line = geometry.output[1] * f;
        y.f32().par_chunks_mut(line.max(1)).enumerate().for_each(|(index, y)| {
            let (image, oy) = (index / geometry.output[0], index % geometry.output[0]);
            let x = image_of(x, &geometry, image, c);
            let mut list = [(0, 0); PRODUCTS];
            for (ox, y) in y.chunks_exact_mut(f).enumerate() {
                y.fill(0.0);
                let products = rows_read(&geometry, oy).flat_map(|(ky, iy)| {
                    columns_read(&geometry, ox).map(move |(kx, ix)| {
                        ((iy * geometry.input[1] + ix) * c, (ky * geometry.window[1] + kx) * f)
                    })
                });
                gathered(&mut list, products, |products| add_outputs(y, x, c, filter, products));
            }
        });
        Ok(())
    }
}

impl CpuKernel for DepthwiseConv2dInputGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([dy, filter], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let geometry = geometry(self.sliding, self.size, [filter.shape()[0], filter.shape()[1]]);
        let (c, f) = (dx.shape().last(), dy.shape().last());
        let (dy, filter) = (dy.f32(), filter.f32());
        let line = geometry.input[1] * c;
        let output_image = geometry.output[0] * geometry.output[1] * f;
        dx.f32().par_chunks_mut(line.max(1)).enumerate().for_each(|(index, dx)| {
            let (image, iy) = (index / geometry.input[0], index % geometry.input[0]);
            let dy = &dy[image * output_image..][..output_image];
            let mut list = [(0, 0); PRODUCTS];
            for (ix, dx) in dx.chunks_exact_mut(c).enumerate() {
                dx.fill(0.0);
                let products = readers(&geometry, 0, iy).flat_map(|(ky, oy)| {
                    readers(&geometry, 1, ix).map(move |(kx, ox)| {
                        ((oy * geometry.output[1] + ox) * f, (ky * geometry.window[1] + kx) * f)
                    })
                });
                gathered(&mut list, products, |products| add_input_gradients(dx, dy, filter, f, products));
            }
        });
        Ok(())
    }
}

impl CpuKernel for DepthwiseConv2dFilterGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, dy], [dfilter]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let geometry = geometry(self.sliding, [x.shape()[1], x.shape()[2]], self.window);
        let (c, f, lines) = (x.shape().last(), dy.shape().last(), dy.shape()[0] * geometry.output[0]);
        let (x, dy) = (x.f32(), dy.f32());
        let output_line = geometry.output[1] * f;
        let window_row = geometry.window[1] * f;
        let per_task = lines.div_ceil(TASKS).max(1);
        let length = dfilter.shape().elements();
        let (partials, tokens) = call.scratch.split_at_mut((parts(lines) - 1) * length);
        // The first partial sum is the result itself.
        let sums = std::iter::once(dfilter.f32()).chain(partials.chunks_mut(length.max(1)));
        for_each(sums.enumerate(), tokens, 1, |(task, dfilter), _| {
            dfilter.fill(0.0);
            let mut list = [(0, 0); PRODUCTS];
            for line in task * per_task..((task + 1) * per_task).min(lines) {
                let (image, oy) = (line / geometry.output[0], line % geometry.output[0]);
                let dy = &dy[line * output_line..][..output_line];
                let x = image_of(x, &geometry, image, c);
                for (ky, iy) in rows_read(&geometry, oy) {
                    let x = &x[iy * geometry.input[1] * c..][..geometry.input[1] * c];
                    for (kx, sums) in dfilter[ky * window_row..][..window_row].chunks_exact_mut(f).enumerate()
                    {
                        let products = (0..geometry.output[1])
                            .filter_map(|ox| Some((geometry.source(1, ox, kx)? * c, ox * f)));
                        gathered(&mut list, products, |products| add_outputs(sums, x, c, dy, products));
                    }
                }
            }
        });
        add_partials(dfilter.f32(), partials);
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let (x, dy) = (&types.inputs[0].shape, &types.inputs[1].shape);
        let lines = x[0] * geometry(self.sliding, [x[1], x[2]], self.window).output[0];
        (parts(lines) - 1) * self.window[0] * self.window[1] * dy.last() + types.lanes
    }
}

/// How many partial sums a filter gradient has.
fn parts(lines: usize) -> usize {
    lines.div_ceil(lines.div_ceil(TASKS).max(1)).max(1)
}

fn geometry(sliding: Sliding, size: [usize; 2], window: [usize; 2]) -> Geometry {
    DepthwiseConv2d { sliding }.geometry(size, window)
}

/// The rows of the window that lie inside the image, each with the image row it reads.
#[inline(always)]
fn rows_read(geometry: &Geometry, oy: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..geometry.window[0]).filter_map(move |ky| Some((ky, geometry.source(0, oy, ky)?)))
}

/// The columns of the window that lie inside the image, each with the image column it reads.
#[inline(always)]
fn columns_read(geometry: &Geometry, ox: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..geometry.window[1]).filter_map(move |kx| Some((kx, geometry.source(1, ox, kx)?)))
}

/// The window elements that read an image row or column, each with the output row or column they belong to.
#[inline(always)]
fn readers(geometry: &Geometry, axis: usize, input: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..geometry.window[axis]).filter_map(move |k| Some((k, reader(geometry, axis, input, k)?)))
}

fn image_of<'a>(x: &'a [f32], geometry: &Geometry, image: usize, c: usize) -> &'a [f32] {
    let length = geometry.input[0] * geometry.input[1] * c;
    &x[image * length..][..length]
}

/// Calls `add` with many products at a time, each given by where its two factors begin. The list is the caller's, so
/// that it is not cleared for every pixel.
#[inline(always)]
fn gathered(
    list: &mut [(usize, usize); PRODUCTS],
    products: impl Iterator<Item = (usize, usize)>,
    mut add: impl FnMut(&[(usize, usize)]),
) {
    let mut count = 0;
    for product in products {
        list[count] = product;
        count += 1;
        if count == PRODUCTS {
            add(list);
            count = 0;
        }
    }
    add(&list[..count]);
}

/// `y[c m + j] += x[c] w[c m + j]` for each product.
#[inline(always)]
fn add_outputs(y: &mut [f32], x: &[f32], c: usize, weights: &[f32], products: &[(usize, usize)]) {
    if y.len() == c {
        return add_products(y, x, weights, products);
    }
    let each = y.len() / c;
    for &(x_start, start) in products {
        let pairs = x[x_start..][..c].iter().zip(weights[start..][..y.len()].chunks_exact(each));
        for (y, (x, weights)) in y.chunks_exact_mut(each).zip(pairs) {
            y.iter_mut().zip(weights).for_each(|(y, w)| *y += x * w);
        }
    }
}

/// `dx[c] += sum over j of dy[c m + j] w[c m + j]` for each product.
#[inline(always)]
fn add_input_gradients(dx: &mut [f32], dy: &[f32], weights: &[f32], f: usize, products: &[(usize, usize)]) {
    if dx.len() == f {
        return add_products(dx, dy, weights, products);
    }
    let each = f / dx.len();
    for &(dy_start, start) in products {
        let pairs = dy[dy_start..][..f].chunks_exact(each).zip(weights[start..][..f].chunks_exact(each));
        for (dx, (dy, weights)) in dx.iter_mut().zip(pairs) {
            *dx += dy.iter().zip(weights).map(|(dy, w)| dy * w).sum::<f32>();
        }
    }
}

wide! {
    /// `to[c] += left[c] right[c]` for each product.
    fn add_products(to: &mut [f32], left: &[f32], right: &[f32], products: &[(usize, usize)]) {
        let mut blocks = to.chunks_exact_mut(LANES);
        let mut first = 0;
        for block in &mut blocks {
            let mut sums: [f32; LANES] = (&*block).try_into().expect("the block is whole");
            for &(left_start, right_start) in products {
                let left: &[f32; LANES] = left[left_start + first..][..LANES].try_into().expect("as many");
                let right: &[f32; LANES] = right[right_start + first..][..LANES].try_into().expect("as many");
                for lane in 0..LANES {
                    sums[lane] += left[lane] * right[lane];
                }
            }
            block.copy_from_slice(&sums);
            first += LANES;
        }
        let rest = blocks.into_remainder();
        for &(left_start, right_start) in products {
            let pairs = left[left_start + first..].iter().zip(&right[right_start + first..]);
            rest.iter_mut().zip(pairs).for_each(|(to, (left, right))| *to += left * right);
        }
    }
}
