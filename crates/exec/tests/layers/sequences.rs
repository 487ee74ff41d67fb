//! Recurrence, attention and layers at every position of a sequence.

use crate::Case;
use plimsoll_model::layer::{
    Activation, Bidirectional, Conv2d, Dense, Embedding, GlobalPooling, Gru, Layer, Lstm, MergeMode,
    MultiHeadAttention, Recurrent, SimpleRnn, TimeDistributed,
};
use plimsoll_model::{Builder, NodeRef};

/// A layer that reads embedded tokens, of which 0 is padding.
fn masked(net: &mut Builder, ids: &[NodeRef], layer: impl Into<Layer>) -> NodeRef {
    let x = net.push(Embedding { mask_zero: true, ..Embedding::new(4, 3) }, ids);
    net.push(layer, &[x])
}

fn simple() -> SimpleRnn {
    SimpleRnn::new(4)
}

fn both(layer: Recurrent, merge_mode: MergeMode) -> Bidirectional {
    Bidirectional { layer, backward: None, merge_mode }
}

pub const CASES: &[Case] = &[
    ("masked_global_average_pooling1d", |net, x| masked(net, x, GlobalPooling::average())),
    ("simple_rnn", |net, x| {
        net.push(SimpleRnn { activation: Activation::Relu, return_sequences: true, ..simple() }, x)
    }),
    ("simple_rnn_backwards", |net, x| {
        let backwards = SimpleRnn { go_backwards: true, return_sequences: true, ..simple() };
        net.push(SimpleRnn { use_bias: false, ..backwards }, x)
    }),
    ("simple_rnn_masked", |net, x| masked(net, x, simple())),
    ("lstm_activations", |net, x| {
        let lstm = Lstm { recurrent_activation: Activation::HardSigmoid, ..Lstm::new(4).return_sequences() };
        net.push(Lstm { activation: Activation::Softsign, ..lstm }, x)
    }),
    ("lstm_activations_masked", |net, x| {
        masked(net, x, Lstm { activation: Activation::Relu, go_backwards: true, ..Lstm::new(4) })
    }),
    ("lstm_backwards", |net, x| {
        let lstm = Lstm { go_backwards: true, unit_forget_bias: false, ..Lstm::new(4) };
        net.push(lstm.return_sequences(), x)
    }),
    ("gru_reset_before", |net, x| net.push(Gru { reset_after: false, ..Gru::new(4).return_sequences() }, x)),
    ("gru_reset_before_masked", |net, x| {
        masked(net, x, Gru { reset_after: false, use_bias: false, ..Gru::new(4) })
    }),
    ("gru_activations", |net, x| {
        let gru = Gru { recurrent_activation: Activation::HardSigmoid, ..Gru::new(4) };
        net.push(Gru { activation: Activation::Elu(1.0), ..gru }, x)
    }),
    ("gru_backwards", |net, x| net.push(Gru { go_backwards: true, ..Gru::new(4).return_sequences() }, x)),
    ("bidirectional_sum", |net, x| {
        net.push(both(Recurrent::Lstm(Lstm::new(4).return_sequences()), MergeMode::Sum), x)
    }),
    ("bidirectional_mul", |net, x| {
        net.push(both(Recurrent::Gru(Gru { reset_after: false, ..Gru::new(4) }), MergeMode::Mul), x)
    }),
    ("bidirectional_ave", |net, x| {
        let layer = Recurrent::SimpleRnn(SimpleRnn { return_sequences: true, ..simple() });
        net.push(both(layer, MergeMode::Ave), x)
    }),
    ("bidirectional_masked", |net, x| {
        masked(net, x, both(Recurrent::SimpleRnn(simple()), MergeMode::Concat))
    }),
    ("time_distributed_dense", |net, x| {
        net.push(TimeDistributed::new(Dense::new(2).activation(Activation::Tanh)), x)
    }),
    ("time_distributed_conv", |net, x| net.push(TimeDistributed::new(Conv2d::new(3, 2)), x)),
    ("attention_three", |net, x| {
        let attention = MultiHeadAttention { value_dim: Some(2), ..MultiHeadAttention::new(2, 3) };
        net.push(MultiHeadAttention { output_shape: Some(5), ..attention }, x)
    }),
    ("attention_causal", |net, x| {
        let attention = MultiHeadAttention { use_causal_mask: true, ..MultiHeadAttention::new(2, 3) };
        // A rate that never drops anything, but with which training has the scores in the open.
        net.push(MultiHeadAttention { use_bias: false, dropout: 1e-9, ..attention }, &[x[0], x[0]])
    }),
];
