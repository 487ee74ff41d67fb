//! Classifiers of token sequences.

use super::Settings;
use crate::layer::{
    Bidirectional, Dense, Dropout, Embedding, GlobalPooling, Layer, LayerNormalization, Lstm, Merge,
    MultiHeadAttention,
};
use crate::{Builder, Model, NodeRef};

pub(super) fn lstm(settings: &Settings) -> Model {
    recurrent("lstm", Lstm::new(128).into(), settings)
}

pub(super) fn bilstm(settings: &Settings) -> Model {
    recurrent("bilstm", Bidirectional::lstm(Lstm::new(64)).into(), settings)
}

fn recurrent(name: &str, layer: Layer, settings: &Settings) -> Model {
    let mut net = Builder::new(name);
    let x = net.tokens(settings.size());
    let x = net.push(Embedding::new(settings.count("vocab"), 128), &[x]);
    let x = net.push(layer, &[x]);
    let x = net.push(Dense::new(64).relu(), &[x]);
    let x = net.push(Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}

/// An encoder that normalizes after each residual, as in the paper; token order is not encoded.
pub(super) fn transformer(settings: &Settings) -> Model {
    let width = settings.count("width");
    let mut net = Builder::new("transformer");
    let x = net.tokens(settings.size());
    let mut x = net.push(Embedding::new(settings.count("vocab"), width), &[x]);
    for _ in 0..settings.count("layers") {
        x = encoder_block(&mut net, settings, width, x);
    }
    let x = net.add("global_average_pooling1d", GlobalPooling::average(), &[x]);
    let x = net.push(Dense::new(settings.count("classes")).softmax(), &[x]);
    net.build(x)
}

fn encoder_block(net: &mut Builder, settings: &Settings, width: usize, x: NodeRef) -> NodeRef {
    let (heads, dropout) = (settings.count("heads"), settings.rate("dropout"));
    let attention = MultiHeadAttention::new(heads, width / heads).dropout(dropout);
    let y = net.push(attention, &[x, x]);
    let x = residual(net, dropout, x, y);
    let y = net.push(Dense::new(settings.count("ff")).relu(), &[x]);
    let y = net.push(Dense::new(width), &[y]);
    residual(net, dropout, x, y)
}

fn residual(net: &mut Builder, dropout: f32, x: NodeRef, mut y: NodeRef) -> NodeRef {
    if dropout > 0.0 {
        y = net.push(Dropout::new(dropout), &[y]);
    }
    let sum = net.push(Merge::Add, &[x, y]);
    net.push(LayerNormalization::default().epsilon(1e-6), &[sum])
}
