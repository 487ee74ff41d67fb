//! EfficientNet (Tan and Le, Rethinking Model Scaling for Convolutional Neural Networks, 2019).

use super::Settings;
use super::mobilenet::{Image, depthwise, padding_for_stride_2};
use crate::layer::{
    Activation, BatchNormalization, Conv2d, Dense, Dropout, GlobalPooling, Merge, Normalization, Rescaling,
    Reshape,
};
use crate::{Builder, Distribution, Fan, Initializer, Model, NodeRef};

const CONV_INITIALIZER: Initializer = Initializer::scaled(2.0, Fan::Out, Distribution::TruncatedNormal);
const DENSE_INITIALIZER: Initializer = Initializer::scaled(1.0 / 3.0, Fan::Out, Distribution::Uniform);

/// One row of table 1: a stage of equal blocks.
struct Stage {
    window: usize,
    repeats: usize,
    filters: usize,
    expansion: usize,
    stride: usize,
}

const fn stage(window: usize, repeats: usize, filters: usize, expansion: usize, stride: usize) -> Stage {
    Stage { window, repeats, filters, expansion, stride }
}

const STAGES: [Stage; 7] = [
    stage(3, 1, 16, 1, 1),
    stage(3, 2, 24, 6, 2),
    stage(5, 2, 40, 6, 2),
    stage(3, 3, 80, 6, 2),
    stage(5, 3, 112, 6, 1),
    stage(5, 4, 192, 6, 2),
    stage(3, 1, 320, 6, 1),
];
/// The repetitions of all stages.
const BLOCKS: usize = 16;

pub(super) fn efficientnet_b0(settings: &Settings) -> Model {
    let mut net = Builder::new("efficientnet_b0");
    let input = net.input(settings.image());
    let at = net.push(Rescaling::new(1.0 / 255.0, 0.0), &[input]);
    let at = net.push(Normalization::default(), &[at]);
    let at = net.add("stem_conv_pad", padding_for_stride_2(settings.size(), 3), &[at]);
    let stem = Conv2d::new(32, 3).strides(2).without_bias().kernel_initializer(CONV_INITIALIZER);
    let at = net.add("stem_conv", stem, &[at]);
    let at = bn_swish(&mut net, "stem_bn", "stem_activation", at);
    let mut x = Image { at, size: settings.size().div_ceil(2), channels: 32 };
    let mut earlier = 0;
    for (index, stage) in STAGES.iter().enumerate() {
        for repeat in 0..stage.repeats {
            let letter = char::from(b'a' + repeat as u8);
            let stride = if repeat == 0 { stage.stride } else { 1 };
            let drop_rate = settings.rate("drop_connect") * earlier as f32 / BLOCKS as f32;
            x = block(&mut net, &format!("block{}{letter}_", index + 1), stage, stride, drop_rate, x);
            earlier += 1;
        }
    }
    let at = net.add("top_conv", pointwise(1280).without_bias(), &[x.at]);
    let at = bn_swish(&mut net, "top_bn", "top_activation", at);
    let mut at = net.add("avg_pool", GlobalPooling::average(), &[at]);
    if settings.rate("dropout") > 0.0 {
        at = net.add("top_dropout", Dropout::new(settings.rate("dropout")), &[at]);
    }
    let classifier = Dense::new(settings.count("classes")).softmax();
    let at = net.add("predictions", classifier.kernel_initializer(DENSE_INITIALIZER), &[at]);
    net.build(at)
}

/// An inverted residual block with squeeze and excitation.
fn block(
    net: &mut Builder,
    prefix: &str,
    stage: &Stage,
    stride: usize,
    drop_rate: f32,
    input: Image,
) -> Image {
    let name = |part: &str| format!("{prefix}{part}");
    let expanded = input.channels * stage.expansion;
    let mut x = input;
    if stage.expansion != 1 {
        let at = net.add(name("expand_conv"), pointwise(expanded).without_bias(), &[x.at]);
        x = x.after(bn_swish(net, &name("expand_bn"), &name("expand_activation"), at));
    }
    let names = [name("dwconv_pad"), name("dwconv")];
    let x = depthwise(net, names, stage.window, stride, CONV_INITIALIZER, x);
    let at = bn_swish(net, &name("bn"), &name("activation"), x.at);
    let at = squeeze_and_excite(net, prefix, (input.channels / 4).max(1), expanded, at);
    let at = net.add(name("project_conv"), pointwise(stage.filters).without_bias(), &[at]);
    let mut at = net.add(name("project_bn"), BatchNormalization::default(), &[at]);
    if stride == 1 && input.channels == stage.filters {
        if drop_rate > 0.0 {
            at = net.add(name("drop"), Dropout::of_images(drop_rate), &[at]);
        }
        at = net.add(name("add"), Merge::Add, &[at, input.at]);
    }
    Image { at, channels: stage.filters, ..x }
}

/// Channels weighted by what the whole image shows.
fn squeeze_and_excite(
    net: &mut Builder,
    prefix: &str,
    squeezed: usize,
    channels: usize,
    x: NodeRef,
) -> NodeRef {
    let name = |part: &str| format!("{prefix}se_{part}");
    let y = net.add(name("squeeze"), GlobalPooling::average(), &[x]);
    let y = net.add(name("reshape"), Reshape::new(&[1, 1, channels as isize]), &[y]);
    let y = net.add(name("reduce"), pointwise(squeezed).activation(Activation::Swish), &[y]);
    let y = net.add(name("expand"), pointwise(channels).activation(Activation::Sigmoid), &[y]);
    net.add(name("excite"), Merge::Multiply, &[x, y])
}

fn pointwise(filters: usize) -> Conv2d {
    Conv2d::new(filters, 1).same().kernel_initializer(CONV_INITIALIZER)
}

fn bn_swish(net: &mut Builder, bn: &str, activation: &str, x: NodeRef) -> NodeRef {
    let x = net.add(bn, BatchNormalization::default(), &[x]);
    net.add(activation, Activation::Swish, &[x])
}
