//! The CPU kernels and their tables: what runs each op, how much scratch it takes, and which outputs may take the place of which
//! inputs.
//!
//! Kernels are parallel over the rayon pool they are called in. They cut their work by sizes that depend on shapes alone, never on
//! the number of threads, so results are the same bits for any pool.

mod all_finite;
mod attention;
mod batch_norm;
mod bias_add;
mod binary;
mod broadcast;
mod cast;
mod concat;
mod conv2d;
mod copying;
mod cross_entropy;
mod depthwise_conv2d;
mod dropout;
mod elementwise;
mod embedding;
mod exponential;
mod fill;
mod gemm;
mod gru;
mod layer_norm;
mod lstm;
mod matmul;
mod moving_average;
mod not_equal;
mod pad;
mod patches;
mod pool2d;
mod random_normal;
mod reduce;
mod reshape;
mod resize2d;
mod runs;
mod slice;
mod softmax;
mod transpose;
mod transposed_conv2d;
mod unary;
mod update;
mod upsample2d;
mod wide;
mod workers;

use super::{Call, KernelError};
use plimsoll_graph::{OpKind, TensorType};

/// Takes what kernels keep on each thread of a pool, so that no step has to.
pub(crate) fn prepare_thread() {
    gemm::prepare_thread();
}

/// Runs one op.
pub fn run(kind: &OpKind, call: Call<'_>) -> Result<(), KernelError> {
    match kind {
        OpKind::MatMul(op) => matmul::run(op, call),
        OpKind::Conv2d(op) => conv2d::run(op, call),
        OpKind::Conv2dFilterGradient(op) => conv2d::run_filter_gradient(op, call),
        OpKind::TransposedConv2d(op) => transposed_conv2d::run(op, call),
        OpKind::DepthwiseConv2d(op) => depthwise_conv2d::run(op, call),
        OpKind::DepthwiseConv2dInputGradient(op) => depthwise_conv2d::run_input_gradient(op, call),
        OpKind::DepthwiseConv2dFilterGradient(op) => depthwise_conv2d::run_filter_gradient(op, call),
        OpKind::BiasAdd(op) => bias_add::run(op, call),
        OpKind::Pool2d(op) => pool2d::run(op, call),
        OpKind::MaxPool2dGradient(op) => pool2d::run_max_gradient(op, call),
        OpKind::AveragePool2dGradient(op) => pool2d::run_average_gradient(op, call),
        OpKind::BatchNorm(op) => batch_norm::run(op, call),
        OpKind::BatchNormInference(op) => batch_norm::run_inference(op, call),
        OpKind::BatchNormGradient(op) => batch_norm::run_gradient(op, call),
        OpKind::MovingAverage(op) => moving_average::run(op, call),
        OpKind::LayerNorm(op) => layer_norm::run(op, call),
        OpKind::LayerNormGradient(op) => layer_norm::run_gradient(op, call),
        OpKind::Dropout(op) => dropout::run(op, call),
        OpKind::Unary(op) => unary::run(op, call),
        OpKind::UnaryGradient(op) => unary::run_gradient(op, call),
        OpKind::Binary(op) => binary::run(op, call),
        OpKind::Softmax(op) => softmax::run(op, call),
        OpKind::SoftmaxGradient(op) => softmax::run_gradient(op, call),
        OpKind::LogSoftmax(op) => softmax::run_log_softmax(op, call),
        OpKind::LogSoftmaxGradient(op) => softmax::run_log_softmax_gradient(op, call),
        OpKind::Broadcast(op) => broadcast::run(op, call),
        OpKind::Concat(op) => concat::run(op, call),
        OpKind::Slice(op) => slice::run(op, call),
        OpKind::Pad(op) => pad::run(op, call),
        OpKind::Reshape(op) => reshape::run(op, call),
        OpKind::Transpose(op) => transpose::run(op, call),
        OpKind::Embedding(op) => embedding::run(op, call),
        OpKind::EmbeddingGradient(op) => embedding::run_gradient(op, call),
        OpKind::Reduce(op) => reduce::run(op, call),
        OpKind::ReduceMaxGradient(op) => reduce::run_max_gradient(op, call),
        OpKind::Resize2d(op) => resize2d::run(op, call),
        OpKind::Resize2dGradient(op) => resize2d::run_gradient(op, call),
        OpKind::Upsample2d(op) => upsample2d::run(op, call),
        OpKind::Upsample2dGradient(op) => upsample2d::run_gradient(op, call),
        OpKind::Attention(op) => attention::run(op, call),
        OpKind::AttentionGradient(op) => attention::run_gradient(op, call),
        OpKind::Lstm(op) => lstm::run(op, call),
        OpKind::LstmGradient(op) => lstm::run_gradient(op, call),
        OpKind::Gru(op) => gru::run(op, call),
        OpKind::GruGradient(op) => gru::run_gradient(op, call),
        OpKind::Cast(op) => cast::run(op, call),
        OpKind::NotEqual(op) => not_equal::run(op, call),
        OpKind::CrossEntropy(op) => cross_entropy::run(op, call),
        OpKind::CrossEntropyGradient(op) => cross_entropy::run_gradient(op, call),
        OpKind::Accuracy(op) => cross_entropy::run_accuracy(op, call),
        OpKind::RandomNormal(op) => random_normal::run(op, call),
        OpKind::Fill(op) => fill::run(op, call),
        OpKind::AllFinite(op) => all_finite::run(op, call),
        OpKind::Update(op) => update::run(op, call),
    }
}

/// How many floats of scratch [`run`] needs for an op in a pool of so many threads.
pub fn scratch(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType], threads: usize) -> usize {
    let types = Types { inputs, outputs, threads };
    match kind {
        OpKind::Conv2d(op) => conv2d::scratch(op, types),
        OpKind::Conv2dFilterGradient(op) => conv2d::scratch_filter_gradient(op, types),
        OpKind::TransposedConv2d(op) => transposed_conv2d::scratch(op, types),
        OpKind::DepthwiseConv2dFilterGradient(op) => depthwise_conv2d::scratch_filter_gradient(op, types),
        OpKind::MaxPool2dGradient(op) => pool2d::scratch_max_gradient(op, types),
        OpKind::BatchNorm(op) => batch_norm::scratch(op, types),
        OpKind::BatchNormInference(op) => batch_norm::scratch_inference(op, types),
        OpKind::BatchNormGradient(op) => batch_norm::scratch_gradient(op, types),
        OpKind::LayerNormGradient(op) => layer_norm::scratch_gradient(op, types),
        OpKind::Reduce(op) => reduce::scratch(op, types),
        OpKind::ReduceMaxGradient(op) => reduce::scratch_max_gradient(op, types),
        OpKind::Attention(op) => attention::scratch(op, types),
        OpKind::AttentionGradient(op) => attention::scratch_gradient(op, types),
        OpKind::LstmGradient(op) => lstm::scratch_gradient(op, types),
        OpKind::GruGradient(op) => gru::scratch_gradient(op, types),
        OpKind::MatMul(_)
        | OpKind::DepthwiseConv2d(_)
        | OpKind::DepthwiseConv2dInputGradient(_)
        | OpKind::BiasAdd(_)
        | OpKind::Pool2d(_)
        | OpKind::AveragePool2dGradient(_)
        | OpKind::MovingAverage(_)
        | OpKind::LayerNorm(_)
        | OpKind::Dropout(_)
        | OpKind::Unary(_)
        | OpKind::UnaryGradient(_)
        | OpKind::Binary(_)
        | OpKind::Softmax(_)
        | OpKind::SoftmaxGradient(_)
        | OpKind::LogSoftmax(_)
        | OpKind::LogSoftmaxGradient(_)
        | OpKind::Broadcast(_)
        | OpKind::Concat(_)
        | OpKind::Slice(_)
        | OpKind::Pad(_)
        | OpKind::Reshape(_)
        | OpKind::Transpose(_)
        | OpKind::Embedding(_)
        | OpKind::EmbeddingGradient(_)
        | OpKind::Resize2d(_)
        | OpKind::Resize2dGradient(_)
        | OpKind::Upsample2d(_)
        | OpKind::Upsample2dGradient(_)
        | OpKind::Lstm(_)
        | OpKind::Gru(_)
        | OpKind::Cast(_)
        | OpKind::NotEqual(_)
        | OpKind::CrossEntropy(_)
        | OpKind::CrossEntropyGradient(_)
        | OpKind::Accuracy(_)
        | OpKind::RandomNormal(_)
        | OpKind::Fill(_)
        | OpKind::AllFinite(_)
        | OpKind::Update(_) => 0,
    }
}

/// Which outputs may share their storage with which inputs, as (input, output), if both have the same size in bytes and nobody reads the
/// input later. Each pair on its own is allowed; a kernel lists two pairs with different outputs only if both may happen together.
pub fn in_place(kind: &OpKind) -> &'static [(usize, usize)] {
    match kind {
        OpKind::BiasAdd(_) => bias_add::IN_PLACE,
        OpKind::BatchNorm(_) => batch_norm::IN_PLACE,
        OpKind::BatchNormInference(_) => batch_norm::IN_PLACE_INFERENCE,
        OpKind::BatchNormGradient(_) => batch_norm::IN_PLACE_GRADIENT,
        OpKind::LayerNorm(_) => layer_norm::IN_PLACE,
        OpKind::LayerNormGradient(_) => layer_norm::IN_PLACE_GRADIENT,
        OpKind::Dropout(_) => dropout::IN_PLACE,
        OpKind::Unary(_) => unary::IN_PLACE,
        OpKind::UnaryGradient(_) => unary::IN_PLACE_GRADIENT,
        OpKind::Binary(_) => binary::IN_PLACE,
        OpKind::Softmax(_) => softmax::IN_PLACE,
        OpKind::SoftmaxGradient(_) => softmax::IN_PLACE_GRADIENT,
        OpKind::LogSoftmax(_) => softmax::IN_PLACE_LOG_SOFTMAX,
        OpKind::LogSoftmaxGradient(_) => softmax::IN_PLACE_LOG_SOFTMAX_GRADIENT,
        OpKind::Broadcast(_) => broadcast::IN_PLACE,
        OpKind::Concat(_) => concat::IN_PLACE,
        OpKind::Slice(_) => slice::IN_PLACE,
        OpKind::Pad(_) => pad::IN_PLACE,
        OpKind::Reshape(_) => reshape::IN_PLACE,
        OpKind::Reduce(_) => reduce::IN_PLACE,
        OpKind::ReduceMaxGradient(_) => reduce::IN_PLACE_MAX_GRADIENT,
        OpKind::AttentionGradient(_) => attention::IN_PLACE_GRADIENT,
        OpKind::Lstm(_) => lstm::IN_PLACE,
        OpKind::LstmGradient(_) => lstm::IN_PLACE_GRADIENT,
        OpKind::Gru(_) => gru::IN_PLACE,
        OpKind::GruGradient(_) => gru::IN_PLACE_GRADIENT,
        OpKind::Cast(_) => cast::IN_PLACE,
        OpKind::NotEqual(_) => not_equal::IN_PLACE,
        OpKind::CrossEntropyGradient(_) => cross_entropy::IN_PLACE_GRADIENT,
        OpKind::MatMul(_)
        | OpKind::Conv2d(_)
        | OpKind::Conv2dFilterGradient(_)
        | OpKind::TransposedConv2d(_)
        | OpKind::DepthwiseConv2d(_)
        | OpKind::DepthwiseConv2dInputGradient(_)
        | OpKind::DepthwiseConv2dFilterGradient(_)
        | OpKind::Pool2d(_)
        | OpKind::MaxPool2dGradient(_)
        | OpKind::AveragePool2dGradient(_)
        | OpKind::MovingAverage(_)
        | OpKind::Transpose(_)
        | OpKind::Embedding(_)
        | OpKind::EmbeddingGradient(_)
        | OpKind::Resize2d(_)
        | OpKind::Resize2dGradient(_)
        | OpKind::Upsample2d(_)
        | OpKind::Upsample2dGradient(_)
        | OpKind::Attention(_)
        | OpKind::CrossEntropy(_)
        | OpKind::Accuracy(_)
        | OpKind::RandomNormal(_)
        | OpKind::Fill(_)
        | OpKind::AllFinite(_)
        | OpKind::Update(_) => &[],
    }
}

/// What a scratch size may depend on.
#[derive(Clone, Copy)]
struct Types<'a> {
    inputs: &'a [TensorType],
    outputs: &'a [TensorType],
    threads: usize,
}
