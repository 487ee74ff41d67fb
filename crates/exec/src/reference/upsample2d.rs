//! Enlarging an image, from its definition.

use super::conv2d::triples;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Interpolation, Upsample2d, Upsample2dGradient};

impl Meaning for Upsample2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, h, w, c] = x.extents();
        let mut y = vec![0.0; x.data.len() * self.factor[0] * self.factor[1]];
        for_each_share(self, [n, h, w, c], |image, output, share| y[output] += share * x.data[image]);
        vec![y]
    }
}

impl Meaning for Upsample2dGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, rows, columns, c] = dy.extents();
        let [h, w] = [rows / self.0.factor[0], columns / self.0.factor[1]];
        let mut dx = vec![0.0; n * h * w * c];
        for_each_share(&self.0, [n, h, w, c], |image, output, share| dx[image] += share * dy.data[output]);
        vec![dx]
    }
}

/// Visits every pair of an old and a new element with the share the old one has in the new one.
fn for_each_share(op: &Upsample2d, [n, h, w, c]: [usize; 4], mut visit: impl FnMut(usize, usize, f64)) {
    let [rows, columns] = [h * op.factor[0], w * op.factor[1]];
    for (image, oy, ox) in triples(n, rows, columns) {
        for (iy, row_share) in sources(op.interpolation, oy, op.factor[0], h) {
            for (ix, column_share) in sources(op.interpolation, ox, op.factor[1], w) {
                for channel in 0..c {
                    let old = ((image * h + iy) * w + ix) * c + channel;
                    let new = ((image * rows + oy) * columns + ox) * c + channel;
                    // What has no share is not looked at: it may be NaN.
                    if row_share * column_share != 0.0 {
                        visit(old, new, row_share * column_share);
                    }
                }
            }
        }
    }
}

/// The old rows or columns that make up a new one, with their shares.
fn sources(interpolation: Interpolation, output: usize, factor: usize, extent: usize) -> [(usize, f64); 2] {
    match interpolation {
        Interpolation::Nearest => [(output / factor, 1.0), (output / factor, 0.0)],
        Interpolation::Bilinear => {
            let position = (output as f64 + 0.5) / factor as f64 - 0.5;
            let inside = |position: f64| position.clamp(0.0, (extent - 1) as f64) as usize;
            let share = position - position.floor();
            [(inside(position.floor()), 1.0 - share), (inside(position.floor() + 1.0), share)]
        }
        Interpolation::Bicubic | Interpolation::Lanczos3 | Interpolation::Lanczos5 => {
            unreachable!("the shape rule has refused it")
        }
    }
}
