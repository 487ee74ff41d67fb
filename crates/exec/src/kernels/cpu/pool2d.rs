//! The CPU kernels of pooling. The innermost loops run over channels, which lie together.

use super::patches::reader;
use super::workers::for_each;
use super::{Call, CpuKernel, KernelError, Types};
use plimsoll_graph::op::{AveragePool2dGradient, Geometry, MaxPool2dGradient, Pool, Pool2d};
use rayon::prelude::*;

impl CpuKernel for Pool2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let geometry = self.geometry(x.tensor());
        let (x, c) = (x.f32(), x.shape().last());
        let [rows, columns] = geometry.output;
        y.f32().par_chunks_mut((columns * c).max(1)).enumerate().for_each(|(line, y)| {
            for (ox, y) in y.chunks_exact_mut(c).enumerate() {
                let window = elements(&geometry, line / rows, [line % rows, ox]);
                match self.pool {
                    Pool::Max => largest(y, window.map(|pixel| &x[pixel * c..][..c])),
                    Pool::Average => mean(y, window.map(|pixel| &x[pixel * c..][..c])),
                }
            }
        });
        Ok(())
    }
}

fn largest<'a>(y: &mut [f32], pixels: impl Iterator<Item = &'a [f32]>) {
    y.fill(f32::NEG_INFINITY);
    for x in pixels {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = if x > *y { x } else { *y });
    }
}

fn mean<'a>(y: &mut [f32], pixels: impl Iterator<Item = &'a [f32]>) {
    y.fill(0.0);
    let mut count = 0;
    for x in pixels {
        count += 1;
        y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
    }
    let share = 1.0 / count.max(1) as f32;
    y.iter_mut().for_each(|y| *y *= share);
}

impl CpuKernel for MaxPool2dGradient {
    /// An image belongs to one task, since windows overlap.
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, y, dy], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let geometry =
            Pool2d { pool: Pool::Max, window: self.window, sliding: self.sliding }.geometry(x.tensor());
        let (c, [rows, columns]) = (x.shape().last(), geometry.output);
        let (x, y, dy) = (x.f32(), y.f32(), dy.f32());
        let image_length = geometry.input[0] * geometry.input[1] * c;
        let images = dx.f32().chunks_mut(image_length.max(1)).enumerate();
        for_each(images, call.scratch, c.max(1), |(image, dx), unclaimed| {
            dx.fill(0.0);
            let x = &x[image * image_length..][..image_length];
            for output in 0..rows * columns {
                let y = &y[(image * rows * columns + output) * c..][..c];
                unclaimed.copy_from_slice(&dy[(image * rows * columns + output) * c..][..c]);
                for pixel in elements(&geometry, 0, [output / columns, output % columns]) {
                    let (dx, x) = (&mut dx[pixel * c..][..c], &x[pixel * c..][..c]);
                    claim(dx, x, y, unclaimed);
                }
            }
        });
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        types.lanes * types.inputs[0].shape.last().max(1)
    }
}

/// Gives a pixel the gradient of the windows it is the first largest element of.
fn claim(dx: &mut [f32], x: &[f32], y: &[f32], unclaimed: &mut [f32]) {
    for (((dx, x), y), unclaimed) in dx.iter_mut().zip(x).zip(y).zip(unclaimed) {
        let is_largest = x == y;
        *dx += if is_largest { *unclaimed } else { 0.0 };
        *unclaimed = if is_largest { 0.0 } else { *unclaimed };
    }
}

impl CpuKernel for AveragePool2dGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([dy], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let geometry =
            self.sliding.over(self.size, self.window).expect("the shape rule has accepted these types");
        let (dy, c) = (dy.f32(), dy.shape().last());
        let [rows, columns] = geometry.input;
        let output_line = geometry.output[1] * c;
        dx.f32().par_chunks_mut((columns * c).max(1)).enumerate().for_each(|(line, dx)| {
            dx.fill(0.0);
            let (image, iy) = (line / rows, line % rows);
            for oy in (0..geometry.window[0]).filter_map(|ky| reader(&geometry, 0, iy, ky)) {
                let dy = &dy[(image * geometry.output[0] + oy) * output_line..][..output_line];
                let rows_inside = inside(&geometry, 0, oy).count();
                for (ox, dy) in dy.chunks_exact(c).enumerate() {
                    let share = 1.0 / (rows_inside * inside(&geometry, 1, ox).count()) as f32;
                    for ix in inside(&geometry, 1, ox) {
                        dx[ix * c..][..c].iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy * share);
                    }
                }
            }
        });
        Ok(())
    }
}

/// The pixels of a window that lie inside the image, row by row, numbered through the batch.
fn elements(geometry: &Geometry, image: usize, [oy, ox]: [usize; 2]) -> impl Iterator<Item = usize> {
    let [rows, columns] = geometry.input;
    inside(geometry, 0, oy)
        .flat_map(move |iy| inside(geometry, 1, ox).map(move |ix| (image * rows + iy) * columns + ix))
}

/// The rows or columns of the image that a window covers.
fn inside(geometry: &Geometry, axis: usize, output: usize) -> impl Iterator<Item = usize> {
    (0..geometry.window[axis]).filter_map(move |k| geometry.source(axis, output, k))
}
