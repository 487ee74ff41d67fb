//! An image at another size, from its definition.

use super::conv2d::triples;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Interpolation, Resize2d, Resize2dGradient};
use std::f64::consts::PI;

impl Meaning for Resize2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, h, w, c] = x.extents();
        let mut y = vec![0.0; n * self.size[0] * self.size[1] * c];
        for_each_share((self.interpolation, self.antialias), [n, c], [h, w], self.size, |old, new, share| {
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
        for_each_share((self.interpolation, self.antialias), [n, c], sizes.0, sizes.1, |old, new, share| {
            dx[old] += share * dy.data[new]
        });
        vec![dx]
    }
}

/// Visits every pair of an old and a new element with the share the old one has in the new one.
fn for_each_share(
    how: (Interpolation, bool),
    [n, c]: [usize; 2],
    [h, w]: [usize; 2],
    [rows, columns]: [usize; 2],
    mut visit: impl FnMut(usize, usize, f64),
) {
    for (image, oy, ox) in triples(n, rows, columns) {
        for (iy, row_share) in sources(how, oy, h, rows) {
            for (ix, column_share) in sources(how, ox, w, columns) {
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
fn sources(how: (Interpolation, bool), output: usize, old: usize, new: usize) -> Vec<(usize, f64)> {
    let centre = (output as f64 + 0.5) * old as f64 / new as f64;
    let position = centre - 0.5;
    let inside = |position: f64| position.clamp(0.0, (old - 1) as f64) as usize;
    let shrinks = (old as f64 / new as f64).max(1.0);
    match how {
        // In whole numbers, because a centre may stand exactly on an edge.
        (Interpolation::Nearest, _) => vec![((2 * output + 1) * old / (2 * new), 1.0)],
        (Interpolation::Bilinear, false) => {
            let share = position - position.floor();
            vec![(inside(position.floor()), 1.0 - share), (inside(position.floor() + 1.0), share)]
        }
        (Interpolation::Bicubic, false) => {
            let step = ((position - position.floor()) * 1024.0).round_ties_even() / 1024.0;
            shares(old, |pixel| cubic(pixel - (position.floor() + step)))
        }
        (Interpolation::Bilinear, true) => {
            shares(old, |pixel| (1.0 - ((pixel - position) / shrinks).abs()).max(0.0))
        }
        (Interpolation::Bicubic, true) => shares(old, |pixel| cubic((pixel - position) / shrinks)),
        (Interpolation::Lanczos3 | Interpolation::Lanczos5, antialias) => {
            let radius = if how.0 == Interpolation::Lanczos3 { 3.0 } else { 5.0 };
            let scale = if antialias { shrinks } else { 1.0 };
            shares(old, |pixel| lanczos((pixel - position) / scale, radius))
        }
    }
}

/// All pixels, with shares in proportion to their weights.
fn shares(extent: usize, weight: impl Fn(f64) -> f64) -> Vec<(usize, f64)> {
    // Where a kernel is 0, rounding leaves less than this of it.
    let weight = |pixel: usize| Some(weight(pixel as f64)).filter(|weight| weight.abs() > 1e-6);
    let weights: Vec<f64> = (0..extent).map(|pixel| weight(pixel).unwrap_or(0.0)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().enumerate().map(|(pixel, weight)| (pixel, weight / sum)).collect()
}

/// The cubic kernel of Keys (1981).
fn cubic(x: f64) -> f64 {
    let x = x.abs();
    if x >= 2.0 {
        0.0
    } else if x >= 1.0 {
        -0.5 * x.powi(3) + 2.5 * x.powi(2) - 4.0 * x + 2.0
    } else {
        1.5 * x.powi(3) - 2.5 * x.powi(2) + 1.0
    }
}

fn lanczos(x: f64, radius: f64) -> f64 {
    let sinc = |x: f64| if x.abs() <= 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x.abs() > radius { 0.0 } else { sinc(x) * sinc(x / radius) }
}
