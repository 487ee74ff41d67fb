//! Normalization, activations, merging, and what changes shapes.

use crate::Case;
use plimsoll_model::layer::{
    Activation, BatchNormalization, Concatenate, CustomScaleLayer, Dense, Dot, Dropout, EinsumDense,
    Embedding, Flatten, GaussianNoise, GroupNormalization, LayerNormalization, LayerScale, Merge,
    Normalization, PRelu, Permute, Relu, RepeatVector, Rescaling, Reshape, RmsNormalization, Softmax,
    UnitNormalization,
};
use plimsoll_model::{Builder, Initializer, NodeRef};

/// An activation of five times the input.
fn activated(net: &mut Builder, x: &[NodeRef], name: &str) -> NodeRef {
    let x = net.push(Rescaling::new(5.0, 0.0), x);
    net.push(Activation::parse(name).unwrap(), &[x])
}

fn einsum(equation: &str, output_shape: &[Option<usize>], bias_axes: Option<&str>) -> EinsumDense {
    EinsumDense {
        equation: equation.to_string(),
        output_shape: output_shape.to_vec(),
        bias_axes: bias_axes.map(str::to_string),
        activation: Activation::Linear,
        kernel_initializer: Initializer::default(),
    }
}

pub const CASES: &[Case] = &[
    ("dense", |net, x| net.push(Dense { use_bias: false, ..Dense::new(3).activation(Activation::Gelu) }, x)),
    ("einsum_dense", |net, x| {
        let einsum = einsum("abc,cde->abde", &[None, Some(2), Some(3)], Some("de"));
        net.push(EinsumDense { activation: Activation::Relu, ..einsum }, x)
    }),
    ("einsum_dense_combine", |net, x| net.push(einsum("abcd,cde->abe", &[None, Some(5)], Some("e")), x)),
    ("einsum_dense_ellipsis", |net, x| net.push(einsum("...x,xy->...y", &[Some(5)], Some("y")), x)),
    ("einsum_dense_shared", |net, x| net.push(einsum("abc,bcd->abd", &[Some(3), Some(2)], Some("bd")), x)),
    ("einsum_dense_turned", |net, x| net.push(einsum("abc,bd->adc", &[Some(2), Some(4)], None), x)),
    ("batch_normalization", |net, x| {
        let norm = BatchNormalization { scale: false, ..BatchNormalization::default().momentum(0.8) };
        net.push(norm.epsilon(0.01), x)
    }),
    ("batch_normalization_axis1", |net, x| {
        net.push(BatchNormalization { axis: 1, center: false, ..Default::default() }, x)
    }),
    ("layer_normalization_axes", |net, x| {
        net.push(LayerNormalization { axis: vec![2, 3], epsilon: 0.1, ..Default::default() }, x)
    }),
    ("layer_normalization_axis1", |net, x| {
        net.push(LayerNormalization { axis: vec![1], center: false, ..Default::default() }, x)
    }),
    ("layer_normalization_outer_axes", |net, x| {
        net.push(LayerNormalization { axis: vec![3, 1], ..Default::default() }, x)
    }),
    ("rms_normalization", |net, x| net.push(RmsNormalization { epsilon: 0.01, ..Default::default() }, x)),
    ("rms_normalization_axes", |net, x| net.push(RmsNormalization { axis: vec![2, 3], epsilon: 0.1 }, x)),
    ("layer_normalization_rms", |net, x| {
        net.push(LayerNormalization { rms_scaling: true, epsilon: 0.01, ..Default::default() }, x)
    }),
    ("group_normalization", |net, x| {
        net.push(GroupNormalization { groups: 3, epsilon: 0.01, ..Default::default() }, x)
    }),
    ("group_normalization_each", |net, x| {
        net.push(GroupNormalization { groups: -1, center: false, ..Default::default() }, x)
    }),
    ("group_normalization_axis1", |net, x| {
        net.push(GroupNormalization { groups: 2, axis: 1, scale: false, ..Default::default() }, x)
    }),
    ("unit_normalization", |net, x| net.push(UnitNormalization { axis: vec![1, 2] }, x)),
    ("normalization", |net, x| net.push(Normalization::default(), x)),
    ("normalization_axis1", |net, x| {
        net.push(Normalization { axis: vec![1], invert: true, ..Default::default() }, x)
    }),
    ("normalization_given", |net, x| {
        let (mean, variance) = (Some(vec![1.0, 2.0, 2.0, -1.0]), Some(vec![4.0, 1.0, 0.25, 0.25]));
        net.push(Normalization { mean, variance, ..Default::default() }, x)
    }),
    ("normalization_scalar", |net, x| {
        let (mean, variance) = (Some(vec![0.5]), Some(vec![2.0]));
        net.push(Normalization { axis: vec![], mean, variance, invert: true }, x)
    }),
    ("rescaling", |net, x| net.push(Rescaling::new(0.5, -1.0), x)),
    ("rescaling_channels", |net, x| {
        net.push(Rescaling { scale: vec![0.5, 2.0, 2.0], offset: vec![1.0, 0.0, -1.0] }, x)
    }),
    ("layer_scale", |net, x| net.push(LayerScale { init_values: 1e-6, projection_dim: 3 }, x)),
    ("activation_relu", |net, x| activated(net, x, "relu")),
    ("activation_relu6", |net, x| activated(net, x, "relu6")),
    ("activation_leaky_relu", |net, x| activated(net, x, "leaky_relu")),
    ("activation_elu", |net, x| activated(net, x, "elu")),
    ("activation_selu", |net, x| activated(net, x, "selu")),
    ("activation_gelu", |net, x| activated(net, x, "gelu")),
    ("activation_silu", |net, x| activated(net, x, "silu")),
    ("activation_sigmoid", |net, x| activated(net, x, "sigmoid")),
    ("activation_hard_sigmoid", |net, x| activated(net, x, "hard_sigmoid")),
    ("activation_hard_silu", |net, x| activated(net, x, "hard_silu")),
    ("activation_tanh", |net, x| activated(net, x, "tanh")),
    ("activation_softplus", |net, x| activated(net, x, "softplus")),
    ("activation_softsign", |net, x| activated(net, x, "softsign")),
    ("activation_exponential", |net, x| activated(net, x, "exponential")),
    ("activation_mish", |net, x| activated(net, x, "mish")),
    ("activation_linear", |net, x| activated(net, x, "linear")),
    ("activation_softmax", |net, x| activated(net, x, "softmax")),
    ("activation_log_softmax", |net, x| activated(net, x, "log_softmax")),
    ("activation_log_sigmoid", |net, x| activated(net, x, "log_sigmoid")),
    ("activation_hard_tanh", |net, x| activated(net, x, "hard_tanh")),
    ("gelu_approximate", |net, x| {
        let x = net.push(Rescaling::new(5.0, 0.0), x);
        net.push(Activation::GeluTanh, &[x])
    }),
    ("relu", |net, x| {
        let x = net.push(Rescaling::new(5.0, 0.0), x);
        net.push(Relu { max_value: Some(2.0), negative_slope: 0.25, threshold: 0.5 }, &[x])
    }),
    ("relu_max", |net, x| {
        let x = net.push(Rescaling::new(5.0, 0.0), x);
        net.push(Relu { max_value: Some(2.0), ..Default::default() }, &[x])
    }),
    ("leaky_relu", |net, x| net.push(Activation::LeakyRelu(0.1), x)),
    ("prelu", |net, x| net.push(PRelu { shared_axes: vec![1, 2] }, x)),
    ("prelu_own", |net, x| net.push(PRelu::default(), x)),
    ("elu", |net, x| net.push(Activation::Elu(0.5), x)),
    ("softmax_axis1", |net, x| net.push(Softmax { axis: 1 }, x)),
    ("flatten", |net, x| net.push(Flatten {}, x)),
    ("reshape", |net, x| net.push(Reshape::new(&[2, -1]), x)),
    ("permute", |net, x| net.push(Permute { dims: vec![3, 1, 2] }, x)),
    ("repeat_vector", |net, x| net.push(RepeatVector { n: 3 }, x)),
    ("merge_add", |net, x| net.push(Merge::Add, x)),
    ("merge_subtract", |net, x| net.push(Merge::Subtract, x)),
    ("merge_multiply", |net, x| net.push(Merge::Multiply, x)),
    ("merge_average", |net, x| net.push(Merge::Average, x)),
    ("merge_maximum", |net, x| net.push(Merge::Maximum, x)),
    ("merge_minimum", |net, x| net.push(Merge::Minimum, x)),
    ("custom_scale_layer", |net, x| net.push(CustomScaleLayer { scale: 0.17 }, x)),
    ("dropout", |net, x| net.push(Dropout::new(0.0), x)),
    ("gaussian_noise", |net, x| net.push(GaussianNoise { stddev: 0.0 }, x)),
    ("merge_ranks", |net, x| net.push(Merge::Multiply, x)),
    ("concatenate", |net, x| net.push(Concatenate { axis: 1 }, x)),
    ("dot_vectors", |net, x| net.push(Dot { axes: [1, 1], normalize: true }, x)),
    ("dot_sequences", |net, x| net.push(Dot { axes: [2, 2], normalize: false }, x)),
    ("dot_mixed", |net, x| net.push(Dot { axes: [2, 1], normalize: false }, x)),
    ("embedding", |net, x| net.push(Embedding::new(4, 3), x)),
    ("shared_dense", |net, x| {
        let dense = Dense::new(4).activation(Activation::Tanh);
        let a = net.add("dense", dense.clone(), &x[..1]);
        let b = net.add("dense", dense, &x[1..]);
        net.push(Merge::Subtract, &[a, b])
    }),
];
