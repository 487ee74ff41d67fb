//! Residual networks (He et al., Deep Residual Learning for Image Recognition, 2015), version 1.

use super::Settings;
use crate::layer::{
    Activation, BatchNormalization, Conv2d, Dense, GlobalPooling, Merge, Pooling2d, ZeroPadding2d,
};
use crate::{Builder, Initializer, Model, NodeRef};

/// For small images, section 4.2 with `n = 3`; shortcuts that change the size are convolutions, as in Keras's example.
pub(super) fn resnet20(settings: &Settings) -> Model {
    let mut net = Builder::new("resnet20");
    let x = net.input(settings.image());
    let mut x = small_conv(&mut net, "conv1", 16, 3, 1, x);
    x = normalized(&mut net, "conv1", x);
    x = net.add("conv1_relu", Activation::Relu, &[x]);
    for (stage, filters) in [(1, 16), (2, 32), (3, 64)] {
        for block in 1..=3 {
            let stride = if stage > 1 && block == 1 { 2 } else { 1 };
            x = small_block(&mut net, &format!("stage{stage}_block{block}"), filters, stride, x);
        }
    }
    let x = net.add("avg_pool", GlobalPooling::average(), &[x]);
    let classifier = Dense::new(settings.count("classes")).softmax();
    let x = net.add("predictions", classifier.kernel_initializer(Initializer::HE_NORMAL), &[x]);
    net.build(x)
}

fn small_block(net: &mut Builder, name: &str, filters: usize, stride: usize, x: NodeRef) -> NodeRef {
    let first = format!("{name}_conv1");
    let second = format!("{name}_conv2");
    let y = small_conv(net, &first, filters, 3, stride, x);
    let y = normalized(net, &first, y);
    let y = net.add(format!("{first}_relu"), Activation::Relu, &[y]);
    let y = small_conv(net, &second, filters, 3, 1, y);
    let y = normalized(net, &second, y);
    let shortcut = match stride {
        1 => x,
        _ => small_conv(net, &format!("{name}_shortcut"), filters, 1, stride, x),
    };
    let sum = net.add(format!("{name}_add"), Merge::Add, &[shortcut, y]);
    net.add(format!("{name}_out"), Activation::Relu, &[sum])
}

fn small_conv(
    net: &mut Builder,
    name: &str,
    filters: usize,
    window: usize,
    stride: usize,
    x: NodeRef,
) -> NodeRef {
    let conv = Conv2d::new(filters, window).strides(stride).same();
    net.add(name, conv.kernel_initializer(Initializer::HE_NORMAL), &[x])
}

fn normalized(net: &mut Builder, name: &str, x: NodeRef) -> NodeRef {
    net.add(format!("{name}_bn"), BatchNormalization::default(), &[x])
}

/// Table 1, the column of 50 layers.
pub(super) fn resnet50(settings: &Settings) -> Model {
    let mut net = Builder::new("resnet50");
    let x = net.input(settings.image());
    let x = net.add("conv1_pad", ZeroPadding2d::new(3), &[x]);
    let x = conv_bn(&mut net, "conv1", Conv2d::new(64, 7).strides(2), x);
    let x = net.add("conv1_relu", Activation::Relu, &[x]);
    let x = net.add("pool1_pad", ZeroPadding2d::new(1), &[x]);
    let mut x = net.add("pool1_pool", Pooling2d::max(3).strides(2), &[x]);
    for (stage, filters, blocks) in [(2, 64, 3), (3, 128, 4), (4, 256, 6), (5, 512, 3)] {
        for block in 1..=blocks {
            let stride = if stage > 2 && block == 1 { 2 } else { 1 };
            x = bottleneck(&mut net, &format!("conv{stage}_block{block}"), filters, stride, block == 1, x);
        }
    }
    let x = net.add("avg_pool", GlobalPooling::average(), &[x]);
    let x = net.add("predictions", Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}

/// Figure 5, right; the first block of a stage has a convolution as its shortcut.
fn bottleneck(
    net: &mut Builder,
    name: &str,
    filters: usize,
    stride: usize,
    conv_shortcut: bool,
    x: NodeRef,
) -> NodeRef {
    let shortcut = match conv_shortcut {
        true => conv_bn(net, &format!("{name}_0"), Conv2d::new(4 * filters, 1).strides(stride), x),
        false => x,
    };
    let y = conv_bn(net, &format!("{name}_1"), Conv2d::new(filters, 1).strides(stride), x);
    let y = net.add(format!("{name}_1_relu"), Activation::Relu, &[y]);
    let y = conv_bn(net, &format!("{name}_2"), Conv2d::new(filters, 3).same(), y);
    let y = net.add(format!("{name}_2_relu"), Activation::Relu, &[y]);
    let y = conv_bn(net, &format!("{name}_3"), Conv2d::new(4 * filters, 1), y);
    let sum = net.add(format!("{name}_add"), Merge::Add, &[shortcut, y]);
    net.add(format!("{name}_out"), Activation::Relu, &[sum])
}

fn conv_bn(net: &mut Builder, name: &str, conv: Conv2d, x: NodeRef) -> NodeRef {
    let x = net.add(format!("{name}_conv"), conv, &[x]);
    net.add(format!("{name}_bn"), BatchNormalization::default().epsilon(1.001e-5), &[x])
}
