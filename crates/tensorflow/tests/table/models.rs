//! The measured models that the zoo does not have, as `bench/peers/tensorflow_memory/train_steps.py` builds them in
//! Keras.

use plimsoll_graph::op::Padding;
use plimsoll_model::layer::{
    Activation, BatchNormalization, Concatenate, Conv2d, Dense, DepthwiseConv2d, Dropout, Embedding, Flatten,
    GlobalPooling, Gru, LayerNormalization, Lstm, Merge, Permute, Pooling2d,
};
use plimsoll_model::{Builder, Model, NodeRef};

const CLASSES: usize = 10;
const VOCABULARY: usize = 10_000;

/// The model of that name, if it is one of these.
pub fn find(name: &str, size: usize) -> Option<Model> {
    Some(match name {
        "mlp_4096" => dense("wide", 784, &[4096, 4096]),
        "deep" => dense("deep", size, &[512; 6]),
        "mlp_beginner" => beginner(),
        "gru" => gru(size),
        "sequences" => sequences(size),
        "separable" => separable(size),
        "gated" => gated(size),
        "residual" => residual(size),
        "branches" => branches(size),
        "stacked" => stacked(size),
        "mixer" => mixer(size),
        _ => return None,
    })
}

fn dense(name: &str, features: usize, widths: &[usize]) -> Model {
    let mut net = Builder::new(name);
    let x = net.input([features]);
    let x = widths.iter().fold(x, |x, &width| net.push(Dense::new(width).relu(), &[x]));
    classified(net, x)
}

/// TensorFlow's first tutorial.
fn beginner() -> Model {
    let mut net = Builder::new("beginner");
    let x = net.input([28, 28]);
    let x = net.push(Flatten {}, &[x]);
    let x = net.push(Dense::new(128).relu(), &[x]);
    let x = net.push(Dropout::new(0.2), &[x]);
    classified(net, x)
}

fn gru(size: usize) -> Model {
    let mut net = Builder::new("gru");
    let x = net.tokens(size);
    let x = net.push(Embedding::new(VOCABULARY, 128), &[x]);
    let x = net.push(Gru::new(128), &[x]);
    let x = net.push(Dense::new(64).relu(), &[x]);
    classified(net, x)
}

fn sequences(size: usize) -> Model {
    let mut net = Builder::new("sequences");
    let x = net.tokens(size);
    let x = net.push(Embedding::new(VOCABULARY, 64), &[x]);
    let x = net.push(Gru::new(96).return_sequences(), &[x]);
    let x = net.push(GlobalPooling::max(), &[x]);
    classified(net, x)
}

fn separable(size: usize) -> Model {
    let mut net = Builder::new("separable");
    let x = net.input([size, size, 3]);
    let mut x = net.push(Conv2d::new(32, 3).strides(2).same().relu(), &[x]);
    for filters in [64, 128, 256] {
        let depthwise =
            DepthwiseConv2d { padding: Padding::Same, use_bias: false, ..DepthwiseConv2d::new(3) };
        let y = net.push(depthwise, &[x]);
        let y = net.push(Conv2d::new(filters, 1).without_bias(), &[y]);
        let y = normalized(&mut net, y);
        x = net.push(Pooling2d::max(2), &[y]);
    }
    let x = net.push(GlobalPooling::average(), &[x]);
    classified(net, x)
}

fn gated(size: usize) -> Model {
    let mut net = Builder::new("gated");
    let mut x = net.input([size, size, 3]);
    for filters in [32, 64] {
        x = net.push(Conv2d::new(filters, 3).same().activation(Activation::Swish), &[x]);
        let gate = net.push(GlobalPooling::average().keepdims(), &[x]);
        let gate = net.push(Conv2d::new(filters, 1).activation(Activation::Sigmoid), &[gate]);
        let y = net.push(Merge::Multiply, &[x, gate]);
        x = net.push(Pooling2d::average(2), &[y]);
    }
    let x = net.push(Flatten {}, &[x]);
    let x = net.push(Dropout::new(0.3), &[x]);
    classified(net, x)
}

fn residual(size: usize) -> Model {
    let mut net = Builder::new("residual");
    let x = net.input([size, size, 3]);
    let mut x = net.push(Conv2d::new(32, 3).same(), &[x]);
    for filters in [32, 64, 128] {
        let mut y = x;
        for _ in 0..2 {
            y = normalized(&mut net, y);
            y = net.push(Conv2d::new(filters, 3).same().without_bias(), &[y]);
        }
        let shortcut = net.push(Conv2d::new(filters, 1), &[x]);
        let sum = net.push(Merge::Add, &[shortcut, y]);
        x = net.push(Pooling2d::max(2), &[sum]);
    }
    let x = net.push(GlobalPooling::average(), &[x]);
    classified(net, x)
}

fn branches(size: usize) -> Model {
    let mut net = Builder::new("branches");
    let x = net.input([size, size, 3]);
    let mut x = net.push(Conv2d::new(32, 3).strides(2).same().relu(), &[x]);
    for filters in [32, 48] {
        let narrow = net.push(Conv2d::new(filters, 1).relu(), &[x]);
        let wide = net.push(Conv2d::new(16, 1).relu(), &[x]);
        let wide = net.push(Conv2d::new(filters, 5).same().relu(), &[wide]);
        let pool = Pooling2d { padding: Padding::Same, ..Pooling2d::max(3).strides(1) };
        let pooled = net.push(pool, &[x]);
        let pooled = net.push(Conv2d::new(filters, 1).relu(), &[pooled]);
        let joined = net.push(Concatenate::default(), &[narrow, wide, pooled]);
        x = net.push(Pooling2d::max(2), &[joined]);
    }
    let x = net.push(GlobalPooling::average(), &[x]);
    let x = net.push(Dropout::new(0.4), &[x]);
    classified(net, x)
}

fn stacked(size: usize) -> Model {
    let mut net = Builder::new("stacked");
    let x = net.tokens(size);
    let x = net.push(Embedding::new(VOCABULARY, 64), &[x]);
    let x = net.push(Lstm::new(64).return_sequences(), &[x]);
    let x = net.push(Lstm::new(32), &[x]);
    classified(net, x)
}

fn mixer(size: usize) -> Model {
    let mut net = Builder::new("mixer");
    let x = net.tokens(size);
    let mut x = net.push(Embedding::new(VOCABULARY, 128), &[x]);
    let gelu = |width| Dense::new(width).activation(Activation::Gelu);
    for _ in 0..3 {
        let y = net.push(LayerNormalization::default(), &[x]);
        let y = net.push(Permute { dims: vec![2, 1] }, &[y]);
        let y = net.push(gelu(64), &[y]);
        let y = net.push(Dense::new(size), &[y]);
        let y = net.push(Permute { dims: vec![2, 1] }, &[y]);
        x = net.push(Merge::Add, &[x, y]);
        let y = net.push(LayerNormalization::default(), &[x]);
        let y = net.push(gelu(256), &[y]);
        let y = net.push(Dense::new(128), &[y]);
        x = net.push(Merge::Add, &[x, y]);
    }
    let x = net.push(GlobalPooling::average(), &[x]);
    classified(net, x)
}

fn normalized(net: &mut Builder, x: NodeRef) -> NodeRef {
    let x = net.push(BatchNormalization::default(), &[x]);
    net.push(Activation::Relu, &[x])
}

fn classified(mut net: Builder, x: NodeRef) -> Model {
    let x = net.push(Dense::new(CLASSES).softmax(), &[x]);
    net.build(x)
}
