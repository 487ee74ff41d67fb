//! Convolutions of sequences and images.

use super::activation;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_graph::op::Padding;
use plimsoll_model::Layer;
use plimsoll_model::layer::{
    Conv1d, Conv1dTranspose, Conv2d, Conv2dTranspose, Conv3d, Conv3dTranspose, DepthwiseConv1d,
    DepthwiseConv2d, SeparableConv1d, SeparableConv2d, TimePadding,
};
use serde_json::json;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    match fields.class() {
        "Conv1D" => conv1d(fields),
        "Conv2D" => conv2d(fields),
        "SeparableConv1D" => separable_conv1d(fields),
        "SeparableConv2D" => separable_conv2d(fields),
        "DepthwiseConv1D" => depthwise_conv1d(fields),
        "DepthwiseConv2D" => depthwise_conv2d(fields),
        "Conv3D" => conv3d(fields),
        "Conv1DTranspose" => conv1d_transpose(fields),
        "Conv3DTranspose" => conv3d_transpose(fields),
        _ => conv2d_transpose(fields),
    }
}

pub(super) fn padding(fields: &Fields<'_>) -> Result<Padding, KerasError> {
    match fields.text("padding", "valid")? {
        "valid" => Ok(Padding::Valid),
        "same" => Ok(Padding::Same),
        other => Err(fields.problem(format!("padding={other} is not supported"))),
    }
}

fn time_padding(fields: &Fields<'_>) -> Result<TimePadding, KerasError> {
    match fields.text("padding", "valid")? {
        "causal" => Ok(TimePadding::Causal),
        _ => padding(fields).map(|padding| match padding {
            Padding::Same => TimePadding::Same,
            _ => TimePadding::Valid,
        }),
    }
}

fn window(fields: &Fields<'_>) -> Result<[usize; 2], KerasError> {
    fields.pair("kernel_size")?.ok_or_else(|| fields.problem("`kernel_size` is missing"))
}

fn length(fields: &Fields<'_>) -> Result<usize, KerasError> {
    fields.single("kernel_size")?.ok_or_else(|| fields.problem("`kernel_size` is missing"))
}

fn conv1d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let conv = Conv1d {
        filters: fields.count("filters")?,
        kernel_size: length(fields)?,
        strides: fields.single("strides")?.unwrap_or(1),
        padding: time_padding(fields)?,
        dilation_rate: fields.single("dilation_rate")?.unwrap_or(1),
        groups: fields.optional_count("groups")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(conv.into())
}

fn conv2d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let conv = Conv2d {
        filters: fields.count("filters")?,
        kernel_size: window(fields)?,
        strides: fields.pair("strides")?.unwrap_or([1, 1]),
        padding: padding(fields)?,
        dilation_rate: fields.pair("dilation_rate")?.unwrap_or([1, 1]),
        groups: fields.optional_count("groups")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(conv.into())
}

fn separable_conv1d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    leftovers_of_keras_2(fields)?;
    let conv = SeparableConv1d {
        filters: fields.count("filters")?,
        kernel_size: length(fields)?,
        strides: fields.single("strides")?.unwrap_or(1),
        padding: time_padding(fields)?,
        dilation_rate: fields.single("dilation_rate")?.unwrap_or(1),
        depth_multiplier: fields.optional_count("depth_multiplier")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        depthwise_initializer: initializers::kernel(fields, "depthwise_initializer")?,
        pointwise_initializer: initializers::kernel(fields, "pointwise_initializer")?,
    };
    Ok(conv.into())
}

fn separable_conv2d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    leftovers_of_keras_2(fields)?;
    let conv = SeparableConv2d {
        filters: fields.count("filters")?,
        kernel_size: window(fields)?,
        strides: fields.pair("strides")?.unwrap_or([1, 1]),
        padding: padding(fields)?,
        dilation_rate: fields.pair("dilation_rate")?.unwrap_or([1, 1]),
        depth_multiplier: fields.optional_count("depth_multiplier")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        depthwise_initializer: initializers::kernel(fields, "depthwise_initializer")?,
        pointwise_initializer: initializers::kernel(fields, "pointwise_initializer")?,
    };
    Ok(conv.into())
}

fn depthwise_conv1d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    leftovers_of_keras_2(fields)?;
    let conv = DepthwiseConv1d {
        kernel_size: length(fields)?,
        strides: fields.single("strides")?.unwrap_or(1),
        padding: time_padding(fields)?,
        dilation_rate: fields.single("dilation_rate")?.unwrap_or(1),
        depth_multiplier: fields.optional_count("depth_multiplier")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        depthwise_initializer: initializers::kernel(fields, "depthwise_initializer")?,
    };
    Ok(conv.into())
}

fn depthwise_conv2d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    leftovers_of_keras_2(fields)?;
    let conv = DepthwiseConv2d {
        kernel_size: window(fields)?,
        strides: fields.pair("strides")?.unwrap_or([1, 1]),
        padding: padding(fields)?,
        dilation_rate: fields.pair("dilation_rate")?.unwrap_or([1, 1]),
        depth_multiplier: fields.optional_count("depth_multiplier")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        depthwise_initializer: initializers::kernel(fields, "depthwise_initializer")?,
    };
    Ok(conv.into())
}

fn conv2d_transpose(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("groups", &[json!(1)])?;
    let conv = Conv2dTranspose {
        filters: fields.count("filters")?,
        kernel_size: window(fields)?,
        strides: fields.pair("strides")?.unwrap_or([1, 1]),
        padding: padding(fields)?,
        output_padding: fields.pair("output_padding")?,
        dilation_rate: fields.pair("dilation_rate")?.unwrap_or([1, 1]),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(conv.into())
}

fn conv3d(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let conv = Conv3d {
        filters: fields.count("filters")?,
        kernel_size: volume(fields)?,
        strides: fields.triple("strides")?.unwrap_or([1; 3]),
        padding: padding(fields)?,
        dilation_rate: fields.triple("dilation_rate")?.unwrap_or([1; 3]),
        groups: fields.optional_count("groups")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(conv.into())
}

fn conv1d_transpose(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("groups", &[json!(1)])?;
    let conv = Conv1dTranspose {
        filters: fields.count("filters")?,
        kernel_size: length(fields)?,
        strides: fields.single("strides")?.unwrap_or(1),
        padding: padding(fields)?,
        output_padding: fields.single("output_padding")?,
        dilation_rate: fields.single("dilation_rate")?.unwrap_or(1),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(conv.into())
}

fn conv3d_transpose(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("groups", &[json!(1)])?;
    let conv = Conv3dTranspose {
        filters: fields.count("filters")?,
        kernel_size: volume(fields)?,
        strides: fields.triple("strides")?.unwrap_or([1; 3]),
        padding: padding(fields)?,
        output_padding: fields.triple("output_padding")?,
        dilation_rate: fields.triple("dilation_rate")?.unwrap_or([1; 3]),
        activation: activation::read(fields, "activation")?,
        use_bias: fields.flag("use_bias", true)?,
        kernel_initializer: initializers::kernel(fields, "kernel_initializer")?,
    };
    Ok(conv.into())
}

fn volume(fields: &Fields<'_>) -> Result<[usize; 3], KerasError> {
    fields.triple("kernel_size")?.ok_or_else(|| fields.problem("`kernel_size` is missing"))
}

/// Keras 2 writes the settings of a plain convolution for these layers, too, and does not use them.
fn leftovers_of_keras_2(fields: &Fields<'_>) -> Result<(), KerasError> {
    fields.only("groups", &[json!(1)])?;
    fields.skip(&["kernel_initializer", "filters_unused"]);
    Ok(())
}
