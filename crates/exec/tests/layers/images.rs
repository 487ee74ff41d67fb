//! Convolutions, pooling and what changes the size of images and sequences.

use crate::Case;
use plimsoll_graph::op::{Interpolation, Padding};
use plimsoll_model::layer::{
    Activation, Conv1d, Conv2d, Conv2dTranspose, Cropping1d, Cropping2d, DepthwiseConv1d, DepthwiseConv2d,
    GlobalPooling, Pooling1d, Pooling2d, Resizing, SeparableConv1d, SeparableConv2d, TimePadding,
    UpSampling1d, UpSampling2d, ZeroPadding1d, ZeroPadding2d,
};

const SAME: Padding = Padding::Same;

pub const CASES: &[Case] = &[
    ("conv1d_causal", |net, x| {
        let conv = Conv1d { padding: TimePadding::Causal, dilation_rate: 2, ..Conv1d::new(4, 3) };
        net.push(conv.activation(Activation::Tanh), x)
    }),
    ("conv1d_same_groups", |net, x| {
        let conv = Conv1d { padding: TimePadding::Same, strides: 2, groups: 2, ..Conv1d::new(4, 3) };
        net.push(Conv1d { use_bias: false, ..conv }, x)
    }),
    ("conv2d_dilated_groups", |net, x| {
        let conv = Conv2d { kernel_size: [2, 3], dilation_rate: [2, 2], groups: 2, ..Conv2d::new(6, 1) };
        net.push(conv.same(), x)
    }),
    ("conv2d_groups_of_one", |net, x| net.push(Conv2d { groups: 3, ..Conv2d::new(6, 3).strides(2) }, x)),
    ("conv2d_transpose", |net, x| {
        let conv = Conv2dTranspose { output_padding: Some([1, 1]), ..Conv2dTranspose::new(3, 3, 2) };
        net.push(conv.same(), x)
    }),
    ("depthwise_conv1d", |net, x| {
        let conv = DepthwiseConv1d { strides: 2, depth_multiplier: 2, ..DepthwiseConv1d::new(3) };
        net.push(DepthwiseConv1d { padding: TimePadding::Same, ..conv }, x)
    }),
    ("depthwise_conv2d_dilated", |net, x| {
        let conv = DepthwiseConv2d { kernel_size: [2, 3], dilation_rate: [2, 1], ..DepthwiseConv2d::new(1) };
        net.push(DepthwiseConv2d { depth_multiplier: 2, ..conv.padding(SAME) }, x)
    }),
    ("separable_conv2d", |net, x| {
        let conv = SeparableConv2d { strides: [2, 2], padding: SAME, ..SeparableConv2d::new(4, 3) };
        net.push(SeparableConv2d { depth_multiplier: 2, activation: Activation::Relu, ..conv }, x)
    }),
    ("separable_conv1d", |net, x| {
        let conv =
            SeparableConv1d { padding: TimePadding::Same, use_bias: false, ..SeparableConv1d::new(4, 3) };
        net.push(SeparableConv1d { depth_multiplier: 2, ..conv }, x)
    }),
    ("max_pooling1d", |net, x| net.push(Pooling1d { strides: 2, padding: SAME, ..Pooling1d::max(3) }, x)),
    ("average_pooling1d", |net, x| {
        net.push(Pooling1d { strides: 2, padding: SAME, ..Pooling1d::average(3) }, x)
    }),
    ("max_pooling2d", |net, x| {
        let pooling = Pooling2d { pool_size: [3, 2], strides: [2, 3], ..Pooling2d::max(1) };
        net.push(Pooling2d { padding: SAME, ..pooling }, x)
    }),
    ("average_pooling2d", |net, x| {
        net.push(Pooling2d { padding: SAME, ..Pooling2d::average(3).strides(1) }, x)
    }),
    ("global_max_pooling1d", |net, x| net.push(GlobalPooling::max().keepdims(), x)),
    ("global_average_pooling2d", |net, x| net.push(GlobalPooling::average().keepdims(), x)),
    ("zero_padding1d", |net, x| net.push(ZeroPadding1d { padding: [1, 2] }, x)),
    ("zero_padding2d", |net, x| net.push(ZeroPadding2d { padding: [[1, 2], [0, 3]] }, x)),
    ("cropping1d", |net, x| net.push(Cropping1d { cropping: [1, 2] }, x)),
    ("cropping2d", |net, x| net.push(Cropping2d { cropping: [[1, 2], [3, 0]] }, x)),
    ("up_sampling1d", |net, x| net.push(UpSampling1d { size: 3 }, x)),
    ("up_sampling2d_nearest", |net, x| {
        net.push(UpSampling2d { size: [2, 3], interpolation: Interpolation::Nearest }, x)
    }),
    ("up_sampling2d_bilinear", |net, x| {
        net.push(UpSampling2d { size: [2, 3], interpolation: Interpolation::Bilinear }, x)
    }),
    ("resizing_bilinear", |net, x| net.push(Resizing::new(3, 5, Interpolation::Bilinear), x)),
    ("resizing_nearest", |net, x| net.push(Resizing::new(3, 5, Interpolation::Nearest), x)),
];
