//! The CPU kernels of enlarging an image: a line of the result at a time.

use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{Interpolation, Upsample2d, Upsample2dGradient};
use rayon::prelude::*;

impl CpuKernel for Upsample2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (h, w, c) = (x.shape()[1], x.shape()[2], x.shape().last());
        let [rows, columns] = [y.shape()[1], y.shape()[2]];
        let x = x.f32();
        y.f32().par_chunks_mut((columns * c).max(1)).enumerate().for_each(|(line, y)| {
            y.fill(0.0);
            let (image, oy) = (line / rows, line % rows);
            for (iy, row_share) in sources(self, 0, oy, h) {
                let x = &x[(image * h + iy) * w * c..][..w * c];
                for (ox, y) in y.chunks_exact_mut(c).enumerate() {
                    for (ix, share) in sources(self, 1, ox, w) {
                        add_scaled(y, &x[ix * c..][..c], row_share * share);
                    }
                }
            }
        });
        Ok(())
    }
}

impl CpuKernel for Upsample2dGradient {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([dy], [dx]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let op = &self.0;
        let (h, w, c) = (dx.shape()[1], dx.shape()[2], dx.shape().last());
        let [rows, columns] = [dy.shape()[1], dy.shape()[2]];
        let dy = dy.f32();
        dx.f32().par_chunks_mut((w * c).max(1)).enumerate().for_each(|(line, dx)| {
            dx.fill(0.0);
            let (image, iy) = (line / h, line % h);
            // Only lines that the neighbours of this one reach into can have a share of it.
            let nearby = (iy.saturating_sub(1) * op.factor[0])..((iy + 2) * op.factor[0]).min(rows);
            for oy in nearby {
                let own = sources(op, 0, oy, h).filter(|&(source, _)| source == iy);
                let row_share: f32 = own.map(|(_, share)| share).sum();
                if row_share == 0.0 {
                    continue;
                }
                let dy = &dy[(image * rows + oy) * columns * c..][..columns * c];
                for (ox, dy) in dy.chunks_exact(c).enumerate() {
                    for (ix, share) in sources(op, 1, ox, w) {
                        add_scaled(&mut dx[ix * c..][..c], dy, row_share * share);
                    }
                }
            }
        });
        Ok(())
    }
}

/// The old rows or columns that a new one is made of, with their shares.
fn sources(op: &Upsample2d, axis: usize, output: usize, extent: usize) -> impl Iterator<Item = (usize, f32)> {
    let factor = op.factor[axis];
    let (first, second, share) = match op.interpolation {
        Interpolation::Nearest => (output / factor, 0, 0.0),
        Interpolation::Bilinear => {
            // In halves of new pixels everything is whole: the centre of an old pixel is half an old pixel after its
            // edge.
            let (position, old) = (2 * output + 1 + factor, 2 * factor);
            let above = position / old;
            (above.saturating_sub(1), above.min(extent - 1), (position % old) as f32 / old as f32)
        }
        Interpolation::Bicubic | Interpolation::Lanczos3 | Interpolation::Lanczos5 => {
            unreachable!("the shape rule has refused it")
        }
    };
    [(first, 1.0 - share), (second, share)].into_iter().filter(|&(_, share)| share != 0.0)
}

fn add_scaled(to: &mut [f32], from: &[f32], factor: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
