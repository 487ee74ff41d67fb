//! A small U-Net (Ronneberger et al. 2015) with batch normalization and padded convolutions.

use super::Settings;
use crate::layer::{Activation, BatchNormalization, Concatenate, Conv2d, Conv2dTranspose, Pooling2d};
use crate::{Builder, Model, NodeRef};

pub(super) fn unet(settings: &Settings) -> Model {
    let mut net = Builder::new("unet");
    let mut x = net.input(settings.image());
    let mut skips = Vec::new();
    for filters in [16, 32, 64] {
        x = double_conv(&mut net, filters, x);
        skips.push(x);
        x = net.push(Pooling2d::max(2), &[x]);
    }
    x = double_conv(&mut net, 128, x);
    for (filters, skip) in [64, 32, 16].into_iter().zip(skips.into_iter().rev()) {
        let up = net.push(Conv2dTranspose::new(filters, 2, 2).same(), &[x]);
        let joined = net.push(Concatenate::default(), &[skip, up]);
        x = double_conv(&mut net, filters, joined);
    }
    let x = net.push(Conv2d::new(settings.count("classes"), 1).activation(Activation::Softmax), &[x]);
    net.build(x)
}

fn double_conv(net: &mut Builder, filters: usize, x: NodeRef) -> NodeRef {
    (0..2).fold(x, |x, _| {
        let x = net.push(Conv2d::new(filters, 3).same().without_bias(), &[x]);
        let x = net.push(BatchNormalization::default(), &[x]);
        net.push(Activation::Relu, &[x])
    })
}
