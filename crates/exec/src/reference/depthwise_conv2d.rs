//! Depthwise convolution and its gradients, from their definitions: a convolution with a group for every channel.

use super::conv2d::for_each_product;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{
    Conv2d, DepthwiseConv2d, DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient, Sliding,
};

impl Meaning for DepthwiseConv2d {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, filter] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, h, w, c] = x.extents();
        let [kh, kw, _, m] = filter.extents();
        let [oh, ow] = self.geometry([h, w], [kh, kw]).output;
        let mut y = vec![0.0; n * oh * ow * c * m];
        for_each_product(&grouped(self.sliding, c), [n, h, w, c], [kh, kw, c * m], |at| {
            y[at.output] += x.data[at.image] * filter.data[at.filter];
        });
        vec![y]
    }
}

impl Meaning for DepthwiseConv2dInputGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [dy, filter] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, ..] = dy.extents::<4>();
        let [kh, kw, c, m] = filter.extents();
        let [h, w] = self.size;
        let mut dx = vec![0.0; n * h * w * c];
        for_each_product(&grouped(self.sliding, c), [n, h, w, c], [kh, kw, c * m], |at| {
            dx[at.image] += dy.data[at.output] * filter.data[at.filter];
        });
        vec![dx]
    }
}

impl Meaning for DepthwiseConv2dFilterGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, dy] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, h, w, c] = x.extents();
        let [.., f] = dy.extents::<4>();
        let [kh, kw] = self.window;
        let mut dfilter = vec![0.0; kh * kw * f];
        for_each_product(&grouped(self.sliding, c), [n, h, w, c], [kh, kw, f], |at| {
            dfilter[at.filter] += x.data[at.image] * dy.data[at.output];
        });
        vec![dfilter]
    }
}

/// `[kh,kw,c,m]` holds the same numbers in the same order as the `[kh,kw,1,c*m]` of `c` groups.
fn grouped(sliding: Sliding, channels: usize) -> Conv2d {
    Conv2d { sliding, groups: channels }
}
