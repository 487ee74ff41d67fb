//! The CPU kernels of giving an image another size: a line of the result at a time.

use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{Interpolation, Resize2d, Resize2dGradient};
use rayon::prelude::*;
use std::f32::consts::PI;

impl CpuKernel for Resize2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (h, w, c) = (x.shape()[1], x.shape()[2], x.shape().last());
        let [rows, columns] = self.size;
        let how = (self.interpolation, self.antialias);
        let x = x.f32();
        y.f32().par_chunks_mut((columns * c).max(1)).enumerate().for_each(|(line, y)| {
            y.fill(0.0);
            let (image, oy) = (line / rows, line % rows);
            sources(how, oy, h, rows, |iy, row_share| {
                let x = &x[(image * h + iy) * w * c..][..w * c];
                for (ox, y) in y.chunks_exact_mut(c).enumerate() {
                    sources(how, ox, w, columns, |ix, share| {
                        add_scaled(y, &x[ix * c..][..c], row_share * share);
                    });
                }
            });
        });
        Ok(())
    }
}

impl CpuKernel for Resize2dGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([dy], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let ([h, w], c) = (self.size, dx.shape().last());
        let [rows, columns] = [dy.shape()[1], dy.shape()[2]];
        let how = (self.interpolation, self.antialias);
        let dy = dy.f32();
        dx.f32().par_chunks_mut((w * c).max(1)).enumerate().for_each(|(line, dx)| {
            dx.fill(0.0);
            let (image, iy) = (line / h, line % h);
            for oy in 0..rows {
                let mut row_share = 0.0;
                sources(how, oy, h, rows, |source, share| {
                    if source == iy {
                        row_share += share;
                    }
                });
                if row_share == 0.0 {
                    continue;
                }
                let dy = &dy[(image * rows + oy) * columns * c..][..columns * c];
                for (ox, dy) in dy.chunks_exact(c).enumerate() {
                    sources(how, ox, w, columns, |ix, share| {
                        add_scaled(&mut dx[ix * c..][..c], dy, row_share * share);
                    });
                }
            }
        });
        Ok(())
    }
}

/// Visits the old rows or columns that a new one is made of, with their shares.
fn sources(
    (interpolation, antialias): (Interpolation, bool),
    output: usize,
    old: usize,
    new: usize,
    mut visit: impl FnMut(usize, f32),
) {
    let mut visit = |source: usize, share: f32| {
        if share != 0.0 {
            visit(source, share);
        }
    };
    // In halves of new pixels times old ones everything is whole.
    let centre = (2 * output + 1) * old;
    match (interpolation, antialias) {
        (Interpolation::Nearest, _) => visit(centre / (2 * new), 1.0),
        (Interpolation::Bilinear, false) => {
            let (position, step) = (centre + new, 2 * new);
            let (above, share) = (position / step, (position % step) as f32 / step as f32);
            visit(above.saturating_sub(1), 1.0 - share);
            visit(above.min(old - 1), share);
        }
        (Interpolation::Bicubic, false) => {
            let (position, step) = (centre + new, 2 * new);
            // Steps of a table with 1,024 of them.
            let part = ((position % step) as f32 / step as f32 * 1024.0).round_ties_even() / 1024.0;
            let first = (position / step) as isize - 2;
            let weight = |at: isize| cubic(at as f32 - 1.0 - part);
            weighted(first, 4, old, weight, visit);
        }
        (kernel, _) => {
            let (radius, function): (f32, fn(f32) -> f32) = match kernel {
                Interpolation::Nearest | Interpolation::Bilinear => (1.0, |x| (1.0 - x.abs()).max(0.0)),
                Interpolation::Bicubic => (2.0, cubic),
                Interpolation::Lanczos3 => (3.0, |x| lanczos(x, 3.0)),
                Interpolation::Lanczos5 => (5.0, |x| lanczos(x, 5.0)),
            };
            let scale = if antialias { (old as f32 / new as f32).max(1.0) } else { 1.0 };
            let place = centre as f32 / (2 * new) as f32;
            let first = (place - radius * scale - 0.5).ceil() as isize;
            let last = (place + radius * scale - 0.5).floor() as isize;
            let weight = |at: isize| function(((first + at) as f32 + 0.5 - place) / scale);
            weighted(first, last + 1 - first, old, weight, visit);
        }
    }
}

/// Visits a run of pixels as far as they lie in the image, with shares in proportion to their weights.
fn weighted(
    first: isize,
    count: isize,
    extent: usize,
    weight: impl Fn(isize) -> f32,
    mut visit: impl FnMut(usize, f32),
) {
    // Where a kernel is 0, rounding leaves less than this of it.
    let counts = |at: isize| weight(at).abs() > 1e-6;
    let within = |&at: &isize| (0..extent as isize).contains(&(first + at)) && counts(at);
    let sum: f32 = (0..count).filter(within).map(&weight).sum();
    for at in (0..count).filter(within) {
        visit((first + at) as usize, weight(at) / sum);
    }
}

/// The cubic kernel of Keys (1981).
fn cubic(x: f32) -> f32 {
    let x = x.abs();
    match x {
        2.0.. => 0.0,
        1.0.. => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
        _ => (1.5 * x - 2.5) * x * x + 1.0,
    }
}

fn lanczos(x: f32, radius: f32) -> f32 {
    match x.abs() {
        far if far > radius => 0.0,
        near if near <= 1e-3 => 1.0,
        _ => radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x),
    }
}

fn add_scaled(to: &mut [f32], from: &[f32], factor: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
