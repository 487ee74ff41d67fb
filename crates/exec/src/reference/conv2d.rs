//! Convolution and its filter gradient, from their definitions.

use super::{Meaning, Tensor};
use plimsoll_graph::op::{Conv2d, Conv2dFilterGradient};

impl Meaning for Conv2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, filter] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [kh, kw, _, f] = filter.extents();
        let [n, h, w, c] = x.extents();
        let [oh, ow] = self.geometry(&x.tensor, [kh, kw]).output;
        let mut y = vec![0.0; n * oh * ow * f];
        for_each_product(self, [n, h, w, c], [kh, kw, f], |at| {
            y[at.output] += x.data[at.image] * filter.data[at.filter];
        });
        vec![y]
    }
}

impl Meaning for Conv2dFilterGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [kh, kw] = self.window;
        let [n, h, w, c] = x.extents();
        let [.., f] = dy.extents::<4>();
        let mut dfilter = vec![0.0; kh * kw * (c / self.conv.groups) * f];
        for_each_product(&self.conv, [n, h, w, c], [kh, kw, f], |at| {
            dfilter[at.filter] += x.data[at.image] * dy.data[at.output];
        });
        vec![dfilter]
    }
}

/// Where the three factors of one product of a convolution lie.
pub(super) struct Product {
    pub(super) image: usize,
    pub(super) filter: usize,
    pub(super) output: usize,
}

/// Visits every product that a convolution sums.
pub(super) fn for_each_product(
    op: &Conv2d,
    [n, h, w, c]: [usize; 4],
    [kh, kw, f]: [usize; 3],
    mut visit: impl FnMut(Product),
) {
    let geometry = op.sliding.over([h, w], [kh, kw]).expect("the shape rule has checked the shapes");
    let [oh, ow] = geometry.output;
    let (channels, filters) = (c / op.groups, f / op.groups);
    for (image, oy, ox) in triples(n, oh, ow) {
        for (ky, kx, j) in triples(kh, kw, f) {
            let (Some(iy), Some(ix)) = (geometry.source(0, oy, ky), geometry.source(1, ox, kx)) else {
                continue;
            };
            let first = j / filters * channels;
            for i in 0..channels {
                visit(Product {
                    image: ((image * h + iy) * w + ix) * c + first + i,
                    filter: ((ky * kw + kx) * channels + i) * f + j,
                    output: ((image * oh + oy) * ow + ox) * f + j,
                });
            }
        }
    }
}

/// All `(i, j, k)` below the given extents.
pub(super) fn triples(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}
