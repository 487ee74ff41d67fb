//! Small models of the layers that no model of the zoo has, the same as in `make_zoo.py`.

use plimsoll_graph::op::{Interpolation, Padding};
use plimsoll_model::layer::{
    Activation, BatchNormalization, Bidirectional, Concatenate, Conv2d, Conv2dTranspose, Cropping2d, Dense,
    DepthwiseConv2d, Embedding, Flatten, GlobalPooling, Gru, LayerNormalization, Lstm, Merge,
    MultiHeadAttention, Normalization, Permute, Pooling2d, Rescaling, Reshape, Softmax, UpSampling2d,
    ZeroPadding2d,
};
use plimsoll_model::{Builder, Model, NodeRef};

type Build = fn() -> Model;

/// All of them by the name of the golden case they are compared with.
pub const MODELS: [(&str, Build); 6] = [
    ("masked_attention", || masked_attention(0.0)),
    // A rate that never drops anything, but with which attention is lowered to its parts.
    ("masked_attention", || masked_attention(1e-9)),
    ("masked_recurrence", masked_recurrence),
    ("causal_attention", causal_attention),
    ("image_layers", image_layers),
    ("merging_layers", merging_layers),
];

fn classify(mut net: Builder, x: NodeRef) -> Model {
    let x = net.push(Dense::new(10).softmax(), &[x]);
    net.build(x)
}

fn masked_tokens(net: &mut Builder) -> NodeRef {
    let ids = net.tokens(8);
    net.push(Embedding { mask_zero: true, ..Embedding::new(5, 8) }, &[ids])
}

fn masked_attention(dropout: f32) -> Model {
    let mut net = Builder::new("masked_attention");
    let x = masked_tokens(&mut net);
    let x = net.push(Bidirectional::gru(Gru::new(4).return_sequences()), &[x]);
    let attention = MultiHeadAttention { value_dim: Some(5), dropout, ..MultiHeadAttention::new(2, 3) };
    let y = net.push(attention, &[x, x]);
    let x = net.push(Merge::Add, &[x, y]);
    let x = net.push(LayerNormalization::default(), &[x]);
    let x = net.push(GlobalPooling::average(), &[x]);
    classify(net, x)
}

fn masked_recurrence() -> Model {
    let mut net = Builder::new("masked_recurrence");
    let x = masked_tokens(&mut net);
    let x = net.push(Bidirectional::lstm(Lstm::new(4).return_sequences()), &[x]);
    let forward = net.push(Gru::new(6), &[x]);
    let backward = Lstm { go_backwards: true, use_bias: false, ..Lstm::new(5) };
    let backward = net.add("backward", backward, &[x]);
    let x = net.push(Concatenate::default(), &[forward, backward]);
    classify(net, x)
}

fn causal_attention() -> Model {
    let mut net = Builder::new("causal_attention");
    let x = net.input([6, 4]);
    let attention = MultiHeadAttention {
        use_bias: false,
        output_shape: Some(7),
        use_causal_mask: true,
        ..MultiHeadAttention::new(2, 3)
    };
    let x = net.push(attention, &[x, x]);
    let x = net.push(LayerNormalization { scale: false, center: false, ..Default::default() }, &[x]);
    let x = net.push(Gru { use_bias: false, ..Gru::new(5).return_sequences() }, &[x]);
    let dense = Dense { use_bias: false, ..Dense::new(3).activation(Activation::Elu(1.0)) };
    let x = net.push(dense, &[x]);
    let x = net.push(Flatten {}, &[x]);
    classify(net, x)
}

fn image_layers() -> Model {
    let mut net = Builder::new("image_layers");
    let x = net.input([7, 9, 4]);
    let x = net.push(ZeroPadding2d { padding: [[1, 2], [0, 1]] }, &[x]);
    let dilated = Conv2d { dilation_rate: [2, 2], ..Conv2d::new(6, 3).activation(Activation::Gelu) };
    let x = net.push(dilated, &[x]);
    let up = Conv2dTranspose { activation: Activation::Sigmoid, ..Conv2dTranspose::new(5, 3, 2) };
    let x = net.push(up, &[x]);
    let x = net.push(Cropping2d { cropping: [[1, 2], [3, 1]] }, &[x]);
    let x = net.push(UpSampling2d { size: [2, 1], interpolation: Interpolation::Bilinear }, &[x]);
    let depthwise = DepthwiseConv2d::new(3).padding(Padding::Same).strides(2);
    let x = net.push(DepthwiseConv2d { depth_multiplier: 2, ..depthwise }, &[x]);
    let norm = BatchNormalization { scale: false, ..BatchNormalization::default().momentum(0.9) };
    let x = net.push(norm, &[x]);
    let x = net.push(Activation::LeakyRelu(0.2), &[x]);
    let up = Conv2dTranspose { output_padding: Some([1, 1]), ..Conv2dTranspose::new(4, 3, 2).same() };
    let x = net.push(Conv2dTranspose { use_bias: false, ..up }, &[x]);
    let x = net.push(Pooling2d { padding: Padding::Same, ..Pooling2d::average(3).strides(2) }, &[x]);
    let x = net.push(UpSampling2d::new(2), &[x]);
    let pool = Pooling2d { pool_size: [2, 3], strides: [1, 2], padding: Padding::Same, ..Pooling2d::max(2) };
    let x = net.push(pool, &[x]);
    let x = net.push(Permute { dims: vec![3, 1, 2] }, &[x]);
    let x = net.push(Softmax { axis: 1 }, &[x]);
    let x = net.push(GlobalPooling::max(), &[x]);
    classify(net, x)
}

fn merging_layers() -> Model {
    let mut net = Builder::new("merging_layers");
    let x = net.input([4, 6]);
    let x = net.push(Rescaling::new(0.5, 0.25), &[x]);
    let x = net.push(Normalization::default(), &[x]);
    let a = net.push(Dense::new(6).activation(Activation::Tanh), &[x]);
    let b = net.push(Dense::new(6).activation(Activation::Swish), &[x]);
    let pairs = [Merge::Subtract, Merge::Multiply, Merge::Maximum, Merge::Minimum];
    let mut merged: Vec<NodeRef> = pairs.into_iter().map(|merge| net.push(merge, &[a, b])).collect();
    merged.push(net.push(Merge::Average, &[a, b, x]));
    let x = net.push(Concatenate { axis: 1 }, &merged);
    let x = net.push(Reshape::new(&[-1, 8]), &[x]);
    let x = net.push(Activation::HardSwish, &[x]);
    let x = net.push(Flatten {}, &[x]);
    classify(net, x)
}
