//! An image at another size, from its definition.

use super::conv2d::triples;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Interpolation, Resize2d, Resize2dGradient};

impl Meaning for Resize2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, h, w, c] = x.extents();
        let mut y = vec![0.0; n * self.size[0] * self.size[1] * c];
        for_each_share(self.interpolation, [n, c], [h, w], self.size, |old, new, share| {
            y[new] += share * x.data[old]
        });
        vec![y]
    }
}

impl Meaning for Resize2dGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, rows, columns, c] = dy.extents();
        let mut dx = vec![0.0; n * self.size[0] * self.size[1] * c];
        let sizes = (self.size, [rows, columns]);
        for_each_share(self.interpolation, [n, c], sizes.0, sizes.1, |old, new, share| {
            dx[old] += share * dy.data[new]
        });
        vec![dx]
    }
}

/// Visits every pair of an old and a new element with the share the old one has in the new one.
fn for_each_share(
    interpolation: Interpolation,
    [n, c]: [usize; 2],
    [h, w]: [usize; 2],
    [rows, columns]: [usize; 2],
    mut visit: impl FnMut(usize, usize, f64),
) {
    for (image, oy, ox) in triples(n, rows, columns) {
        for (iy, row_share) in sources(interpolation, oy, h, rows) {
            for (ix, column_share) in sources(interpolation, ox, w, columns) {
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
fn sources(interpolation: Interpolation, output: usize, old: usize, new: usize) -> [(usize, f64); 2] {
    let centre = (output as f64 + 0.5) * old as f64 / new as f64;
    let inside = |position: f64| position.clamp(0.0, (old - 1) as f64) as usize;
    match interpolation {
        // In whole numbers, because a centre may stand exactly on an edge.
        Interpolation::Nearest => {
            let pixel = (2 * output + 1) * old / (2 * new);
            [(pixel, 1.0), (pixel, 0.0)]
        }
        Interpolation::Bilinear => {
            let position = centre - 0.5;
            let share = position - position.floor();
            [(inside(position.floor()), 1.0 - share), (inside(position.floor() + 1.0), share)]
        }
    }
}
