//! MobileNet versions 2 (Sandler et al. 2018) and 3 (Howard et al. 2019).

use super::Settings;
use crate::layer::{
    Activation, BatchNormalization, Conv2d, Dense, DepthwiseConv2d, Dropout, Flatten, GlobalPooling, Merge,
    Rescaling, ZeroPadding2d,
};
use crate::{Builder, Initializer, Model, NodeRef};
use plimsoll_graph::op::Padding;

/// What flows through a network of blocks: the layer, the pixels a side and the channels.
#[derive(Clone, Copy)]
pub(super) struct Image {
    pub(super) at: NodeRef,
    pub(super) size: usize,
    pub(super) channels: usize,
}

impl Image {
    /// The same image after another layer.
    pub(super) fn after(self, at: NodeRef) -> Self {
        Self { at, ..self }
    }

    /// The image at half the size, if the stride is 2.
    pub(super) fn shrunk(self, stride: usize) -> Self {
        Self { size: self.size.div_ceil(stride), ..self }
    }
}

/// Keras pads by hand before a convolution of stride 2 (`correct_pad`), so that windows are centred as in other
/// frameworks.
pub(super) fn padding_for_stride_2(size: usize, window: usize) -> ZeroPadding2d {
    ZeroPadding2d::uneven(window / 2 - usize::from(size.is_multiple_of(2)), window / 2)
}

/// A depthwise convolution; those of stride 2 are padded by a layer of their own.
pub(super) fn depthwise(
    net: &mut Builder,
    names: [String; 2],
    window: usize,
    stride: usize,
    initializer: Initializer,
    x: Image,
) -> Image {
    let [pad_name, conv_name] = names;
    let (x, padding) = match stride {
        2 => {
            let pad = padding_for_stride_2(x.size, window);
            (x.after(net.add(pad_name, pad, &[x.at])).shrunk(2), Padding::Valid)
        }
        _ => (x, Padding::Same),
    };
    let conv = DepthwiseConv2d::new(window).strides(stride).padding(padding).without_bias();
    x.after(net.add(conv_name, conv.depthwise_initializer(initializer), &[x.at]))
}

fn norm() -> BatchNormalization {
    BatchNormalization::default().momentum(0.999)
}

pub(super) fn mobilenet_v2(settings: &Settings) -> Model {
    let mut net = Builder::new("mobilenet_v2");
    let input = net.input(settings.image());
    let at = net.add("Conv1", Conv2d::new(32, 3).strides(2).same().without_bias(), &[input]);
    let at = net.add("bn_Conv1", norm(), &[at]);
    let at = net.add("Conv1_relu", Activation::Relu6, &[at]);
    let mut x = Image { at, size: settings.size().div_ceil(2), channels: 32 };
    let mut block = 0;
    // Table 2: expansion, channels, repetitions, stride of the first.
    for (expansion, filters, repeats, first_stride) in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ] {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { first_stride } else { 1 };
            x = inverted_residual_v2(&mut net, block, expansion, filters, stride, x);
            block += 1;
        }
    }
    let at = net.add("Conv_1", Conv2d::new(1280, 1).without_bias(), &[x.at]);
    let at = net.add("Conv_1_bn", norm(), &[at]);
    let at = net.add("out_relu", Activation::Relu6, &[at]);
    let at = net.add("global_average_pooling2d", GlobalPooling::average(), &[at]);
    let at = net.add("predictions", Dense::new(settings.count("classes")).softmax(), &[at]);
    net.build(at)
}

/// Figure 4 (d): expand, filter every channel, project; what is narrow is added.
fn inverted_residual_v2(
    net: &mut Builder,
    block: usize,
    expansion: usize,
    filters: usize,
    stride: usize,
    input: Image,
) -> Image {
    let prefix = if block == 0 { "expanded_conv_".to_string() } else { format!("block_{block}_") };
    let name = |part: &str| format!("{prefix}{part}");
    let mut x = input;
    if block > 0 {
        let expand = Conv2d::new(expansion * input.channels, 1).same().without_bias();
        let at = net.add(name("expand"), expand, &[x.at]);
        let at = net.add(name("expand_BN"), norm(), &[at]);
        x = x.after(net.add(name("expand_relu"), Activation::Relu6, &[at]));
    }
    let x = depthwise(net, [name("pad"), name("depthwise")], 3, stride, Initializer::default(), x);
    let at = net.add(name("depthwise_BN"), norm(), &[x.at]);
    let at = net.add(name("depthwise_relu"), Activation::Relu6, &[at]);
    let at = net.add(name("project"), Conv2d::new(filters, 1).same().without_bias(), &[at]);
    let mut at = net.add(name("project_BN"), norm(), &[at]);
    if input.channels == filters && stride == 1 {
        at = net.add(name("add"), Merge::Add, &[input.at, at]);
    }
    Image { at, channels: filters, ..x }
}

/// One row of table 1 of the third version.
struct Row {
    /// How many times wider the block is inside, in tenths.
    expansion: usize,
    filters: usize,
    window: usize,
    stride: usize,
    /// Whether there is squeeze and excitation.
    squeeze: bool,
    activation: Activation,
}

const fn row(
    expansion: usize,
    filters: usize,
    window: usize,
    stride: usize,
    squeeze: bool,
    activation: Activation,
) -> Row {
    Row { expansion, filters, window, stride, squeeze, activation }
}

const RELU: Activation = Activation::Relu;
const SWISH: Activation = Activation::HardSwish;
const ROWS: [Row; 15] = [
    row(10, 16, 3, 1, false, RELU),
    row(40, 24, 3, 2, false, RELU),
    row(30, 24, 3, 1, false, RELU),
    row(30, 40, 5, 2, true, RELU),
    row(30, 40, 5, 1, true, RELU),
    row(30, 40, 5, 1, true, RELU),
    row(60, 80, 3, 2, false, SWISH),
    row(25, 80, 3, 1, false, SWISH),
    row(23, 80, 3, 1, false, SWISH),
    row(23, 80, 3, 1, false, SWISH),
    row(60, 112, 3, 1, true, SWISH),
    row(60, 112, 3, 1, true, SWISH),
    row(60, 160, 5, 2, true, SWISH),
    row(60, 160, 5, 1, true, SWISH),
    row(60, 160, 5, 1, true, SWISH),
];

pub(super) fn mobilenet_v3_large(settings: &Settings) -> Model {
    let mut net = Builder::new("mobilenet_v3_large");
    let input = net.input(settings.image());
    let at = net.push(Rescaling::new(1.0 / 127.5, -1.0), &[input]);
    let at = net.add("conv", Conv2d::new(16, 3).strides(2).same().without_bias(), &[at]);
    let at = net.add("conv_bn", norm(), &[at]);
    let at = net.add("conv_activation", SWISH, &[at]);
    let mut x = Image { at, size: settings.size().div_ceil(2), channels: 16 };
    for (block, row) in ROWS.iter().enumerate() {
        x = inverted_residual_v3(&mut net, block, row, x);
    }
    let at = net.add("conv_1", Conv2d::new(multiple_of_8(6 * x.channels), 1).same().without_bias(), &[x.at]);
    let at = net.add("conv_1_bn", norm(), &[at]);
    let at = net.add("conv_1_activation", SWISH, &[at]);
    let at = net.add("global_average_pooling2d", GlobalPooling::average().keepdims(), &[at]);
    let at = net.add("conv_2", Conv2d::new(1280, 1).same(), &[at]);
    let mut at = net.add("conv_2_activation", SWISH, &[at]);
    if settings.rate("dropout") > 0.0 {
        at = net.push(Dropout::new(settings.rate("dropout")), &[at]);
    }
    let at = net.add("logits", Conv2d::new(settings.count("classes"), 1).same(), &[at]);
    let at = net.push(Flatten {}, &[at]);
    let at = net.add("predictions", Activation::Softmax, &[at]);
    net.build(at)
}

fn inverted_residual_v3(net: &mut Builder, block: usize, row: &Row, input: Image) -> Image {
    let prefix = if block == 0 { "expanded_conv_".to_string() } else { format!("expanded_conv_{block}_") };
    let name = |part: &str| format!("{prefix}{part}");
    let expanded = multiple_of_8(input.channels * row.expansion / 10);
    let mut x = input;
    if block > 0 {
        let at = net.add(name("expand"), Conv2d::new(expanded, 1).same().without_bias(), &[x.at]);
        let at = net.add(name("expand_bn"), norm(), &[at]);
        x = x.after(net.add(name("expand_activation"), row.activation, &[at]));
    }
    let names = [name("depthwise_pad"), name("depthwise")];
    let x = depthwise(net, names, row.window, row.stride, Initializer::default(), x);
    let at = net.add(name("depthwise_bn"), norm(), &[x.at]);
    let mut at = net.add(name("depthwise_activation"), row.activation, &[at]);
    if row.squeeze {
        at = squeeze_and_excite(net, &prefix, expanded, at);
    }
    let at = net.add(name("project"), Conv2d::new(row.filters, 1).same().without_bias(), &[at]);
    let mut at = net.add(name("project_bn"), norm(), &[at]);
    if row.stride == 1 && input.channels == row.filters {
        at = net.add(name("add"), Merge::Add, &[input.at, at]);
    }
    Image { at, channels: row.filters, ..x }
}

/// Channels weighted by what the whole image shows.
fn squeeze_and_excite(net: &mut Builder, prefix: &str, filters: usize, x: NodeRef) -> NodeRef {
    let name = |part: &str| format!("{prefix}squeeze_excite_{part}");
    let y = net.add(name("avg_pool"), GlobalPooling::average().keepdims(), &[x]);
    let y = net.add(name("conv"), Conv2d::new(multiple_of_8(filters / 4), 1).same(), &[y]);
    let y = net.add(name("relu"), Activation::Relu, &[y]);
    let y = net.add(name("conv_1"), Conv2d::new(filters, 1).same(), &[y]);
    let y = net.add(name("hard_sigmoid"), Activation::HardSigmoid, &[y]);
    net.add(name("mul"), Merge::Multiply, &[x, y])
}

/// The nearest multiple of 8 that is not below nine tenths.
fn multiple_of_8(channels: usize) -> usize {
    let rounded = ((channels + 4) / 8 * 8).max(8);
    if rounded * 10 < channels * 9 { rounded + 8 } else { rounded }
}
