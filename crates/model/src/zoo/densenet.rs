//! DenseNet (Huang et al., Densely Connected Convolutional Networks, 2016).

use super::Settings;
use crate::layer::{
    Activation, BatchNormalization, Concatenate, Conv2d, Dense, GlobalPooling, Pooling2d, ZeroPadding2d,
};
use crate::{Builder, Model, NodeRef};

/// How many channels each layer adds.
const GROWTH: usize = 32;

/// Table 1, the column of 121 layers.
pub(super) fn densenet121(settings: &Settings) -> Model {
    let mut net = Builder::new("densenet121");
    let x = net.input(settings.image());
    let x = net.push(ZeroPadding2d::new(3), &[x]);
    let x = net.add("conv1_conv", Conv2d::new(64, 7).strides(2).without_bias(), &[x]);
    let x = bn_relu(&mut net, "conv1_", x);
    let x = net.push(ZeroPadding2d::new(1), &[x]);
    let mut x = net.add("pool1", Pooling2d::max(3).strides(2), &[x]);
    let mut channels = 64;
    for (stage, blocks) in [(2, 6), (3, 12), (4, 24), (5, 16)] {
        for block in 1..=blocks {
            x = dense_layer(&mut net, &format!("conv{stage}_block{block}"), x);
        }
        channels += blocks * GROWTH;
        if stage < 5 {
            channels /= 2;
            x = transition(&mut net, &format!("pool{stage}"), channels, x);
        }
    }
    let x = bn_relu(&mut net, "", x);
    let x = net.add("avg_pool", GlobalPooling::average(), &[x]);
    let x = net.add("predictions", Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}

/// A bottleneck and a convolution whose result joins its input.
fn dense_layer(net: &mut Builder, name: &str, x: NodeRef) -> NodeRef {
    let y = bn_relu(net, &format!("{name}_0_"), x);
    let y = net.add(format!("{name}_1_conv"), Conv2d::new(4 * GROWTH, 1).without_bias(), &[y]);
    let y = bn_relu(net, &format!("{name}_1_"), y);
    let y = net.add(format!("{name}_2_conv"), Conv2d::new(GROWTH, 3).same().without_bias(), &[y]);
    net.add(format!("{name}_concat"), Concatenate::default(), &[x, y])
}

/// Half the channels and half the size.
fn transition(net: &mut Builder, name: &str, channels: usize, x: NodeRef) -> NodeRef {
    let x = bn_relu(net, &format!("{name}_"), x);
    let x = net.add(format!("{name}_conv"), Conv2d::new(channels, 1).without_bias(), &[x]);
    net.add(format!("{name}_pool"), Pooling2d::average(2), &[x])
}

fn bn_relu(net: &mut Builder, prefix: &str, x: NodeRef) -> NodeRef {
    let x = net.add(format!("{prefix}bn"), BatchNormalization::default().epsilon(1.001e-5), &[x]);
    net.add(format!("{prefix}relu"), Activation::Relu, &[x])
}
