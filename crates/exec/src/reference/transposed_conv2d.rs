//! Transposed convolution, from its definition: the products of the convolution, summed the other way.

use super::conv2d::for_each_product;
use super::{Meaning, Tensor};
use plimsoll_graph::op::TransposedConv2d;

impl Meaning for TransposedConv2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, filter] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, _, _, f] = x.extents();
        let [kh, kw, channels, _] = filter.extents();
        let ([h, w], c) = (self.size, channels * self.conv.groups);
        let mut y = vec![0.0; n * h * w * c];
        for_each_product(&self.conv, [n, h, w, c], [kh, kw, f], |at| {
            y[at.image] += x.data[at.output] * filter.data[at.filter];
        });
        vec![y]
    }
}
