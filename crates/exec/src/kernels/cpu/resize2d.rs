//! The CPU kernels of giving an image another size: a line of the result at a time.

use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{Interpolation, Resize2d, Resize2dGradient};
use rayon::prelude::*;

impl CpuKernel for Resize2d {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (h, w, c) = (x.shape()[1], x.shape()[2], x.shape().last());
        let [rows, columns] = self.size;
        let x = x.f32();
        y.f32().par_chunks_mut((columns * c).max(1)).enumerate().for_each(|(line, y)| {
            y.fill(0.0);
            let (image, oy) = (line / rows, line % rows);
            for (iy, row_share) in sources(self.interpolation, oy, h, rows) {
                let x = &x[(image * h + iy) * w * c..][..w * c];
                for (ox, y) in y.chunks_exact_mut(c).enumerate() {
                    for (ix, share) in sources(self.interpolation, ox, w, columns) {
                        add_scaled(y, &x[ix * c..][..c], row_share * share);
                    }
                }
            }
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
        let dy = dy.f32();
        dx.f32().par_chunks_mut((w * c).max(1)).enumerate().for_each(|(line, dx)| {
            dx.fill(0.0);
            let (image, iy) = (line / h, line % h);
            for oy in 0..rows {
                let own = sources(self.interpolation, oy, h, rows).filter(|&(source, _)| source == iy);
                let row_share: f32 = own.map(|(_, share)| share).sum();
                if row_share == 0.0 {
                    continue;
                }
                let dy = &dy[(image * rows + oy) * columns * c..][..columns * c];
                for (ox, dy) in dy.chunks_exact(c).enumerate() {
                    for (ix, share) in sources(self.interpolation, ox, w, columns) {
                        add_scaled(&mut dx[ix * c..][..c], dy, row_share * share);
                    }
                }
            }
        });
        Ok(())
    }
}

/// The old rows or columns that a new one is made of, with their shares. In halves of new pixels times old ones
/// everything is whole.
fn sources(
    interpolation: Interpolation,
    output: usize,
    old: usize,
    new: usize,
) -> impl Iterator<Item = (usize, f32)> {
    let centre = (2 * output + 1) * old;
    let (first, second, share) = match interpolation {
        Interpolation::Nearest => (centre / (2 * new), 0, 0.0),
        Interpolation::Bilinear => {
            let (position, step) = (centre + new, 2 * new);
            let above = position / step;
            (above.saturating_sub(1), above.min(old - 1), (position % step) as f32 / step as f32)
        }
    };
    [(first, 1.0 - share), (second, share)].into_iter().filter(|&(_, share)| share != 0.0)
}

fn add_scaled(to: &mut [f32], from: &[f32], factor: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
