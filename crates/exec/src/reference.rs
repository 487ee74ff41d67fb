//! The reference interpreter: what every op means, said as plainly as possible and computed in float64.
//!
//! In: a graph and the contents of its inputs and persistent values. Out: the contents of every value.
//! Nothing here is fast. Kernels and gradients are compared with it, so each op is written from its definition and
//! not from its kernel.

mod all_finite;
mod attention;
mod batch_norm;
mod bias_add;
mod binary;
mod broadcast;
mod cast;
mod concat;
mod conv2d;
mod cross_entropy;
mod depthwise_conv2d;
mod dropout;
mod embedding;
mod fill;
mod gru;
mod layer_norm;
mod lstm;
mod matmul;
mod moving_average;
mod not_equal;
mod pad;
mod pool2d;
mod random_normal;
mod reduce;
mod reshape;
mod resize2d;
mod slice;
mod softmax;
mod tensor;
mod transpose;
mod transposed_conv2d;
mod unary;
mod update;
mod upsample2d;

pub use tensor::Tensor;

use plimsoll_graph::{Graph, OpKind, Source, ValueId};
use std::collections::HashMap;

/// Runs every op of the graph once and gives the contents of every value.
///
/// # Panics
/// If an input or a persistent value is missing from `given`.
pub fn interpret(graph: &Graph, given: &HashMap<ValueId, Tensor>) -> Vec<Tensor> {
    let mut contents: Vec<Option<Tensor>> = vec![None; graph.values().len()];
    for id in graph.value_ids() {
        if !matches!(graph.value(id).source, Source::Op(_)) {
            let tensor = given.get(&id).unwrap_or_else(|| panic!("{} is not given", graph.value(id).name));
            contents[id.index()] = Some(tensor.clone());
        }
    }
    for op in graph.ops() {
        let inputs: Vec<&Tensor> = op
            .inputs
            .iter()
            .map(|input| contents[input.index()].as_ref().expect("ops stand after their producers"))
            .collect();
        let results = run(&op.kind, &inputs);
        for (&output, result) in op.outputs.iter().zip(results) {
            contents[output.index()] = Some(result);
        }
    }
    contents.into_iter().map(|tensor| tensor.expect("every value has a source")).collect()
}

/// Runs one op.
pub fn run(kind: &OpKind, inputs: &[&Tensor]) -> Vec<Tensor> {
    let types: Vec<_> = inputs.iter().map(|input| input.tensor.clone()).collect();
    let outputs = kind.infer(&types).expect("the op takes these inputs");
    let results = match kind {
        OpKind::MatMul(op) => matmul::run(op, inputs),
        OpKind::Conv2d(op) => conv2d::run(op, inputs),
        OpKind::Conv2dFilterGradient(op) => conv2d::run_filter_gradient(op, inputs),
        OpKind::TransposedConv2d(op) => transposed_conv2d::run(op, inputs),
        OpKind::DepthwiseConv2d(op) => depthwise_conv2d::run(op, inputs),
        OpKind::DepthwiseConv2dInputGradient(op) => depthwise_conv2d::run_input_gradient(op, inputs),
        OpKind::DepthwiseConv2dFilterGradient(op) => depthwise_conv2d::run_filter_gradient(op, inputs),
        OpKind::BiasAdd(op) => bias_add::run(op, inputs),
        OpKind::Pool2d(op) => pool2d::run(op, inputs),
        OpKind::MaxPool2dGradient(op) => pool2d::run_max_gradient(op, inputs),
        OpKind::AveragePool2dGradient(op) => pool2d::run_average_gradient(op, inputs),
        OpKind::BatchNorm(op) => batch_norm::run(op, inputs),
        OpKind::BatchNormInference(op) => batch_norm::run_inference(op, inputs),
        OpKind::BatchNormGradient(op) => batch_norm::run_gradient(op, inputs),
        OpKind::MovingAverage(op) => moving_average::run(op, inputs),
        OpKind::LayerNorm(op) => layer_norm::run(op, inputs),
        OpKind::LayerNormGradient(op) => layer_norm::run_gradient(op, inputs),
        OpKind::Dropout(op) => dropout::run(op, inputs),
        OpKind::Unary(op) => unary::run(op, inputs),
        OpKind::UnaryGradient(op) => unary::run_gradient(op, inputs),
        OpKind::Binary(op) => binary::run(op, inputs),
        OpKind::Softmax(op) => softmax::run(op, inputs),
        OpKind::SoftmaxGradient(op) => softmax::run_gradient(op, inputs),
        OpKind::LogSoftmax(op) => softmax::run_log_softmax(op, inputs),
        OpKind::LogSoftmaxGradient(op) => softmax::run_log_softmax_gradient(op, inputs),
        OpKind::Broadcast(op) => broadcast::run(op, inputs),
        OpKind::Concat(op) => concat::run(op, inputs),
        OpKind::Slice(op) => slice::run(op, inputs),
        OpKind::Pad(op) => pad::run(op, inputs),
        OpKind::Reshape(op) => reshape::run(op, inputs),
        OpKind::Transpose(op) => transpose::run(op, inputs),
        OpKind::Embedding(op) => embedding::run(op, inputs),
        OpKind::EmbeddingGradient(op) => embedding::run_gradient(op, inputs),
        OpKind::Reduce(op) => reduce::run(op, inputs),
        OpKind::ReduceMaxGradient(op) => reduce::run_max_gradient(op, inputs),
        OpKind::Resize2d(op) => resize2d::run(op, inputs),
        OpKind::Resize2dGradient(op) => resize2d::run_gradient(op, inputs),
        OpKind::Upsample2d(op) => upsample2d::run(op, inputs),
        OpKind::Upsample2dGradient(op) => upsample2d::run_gradient(op, inputs),
        OpKind::Attention(op) => attention::run(op, inputs),
        OpKind::AttentionGradient(op) => attention::run_gradient(op, inputs),
        OpKind::Lstm(op) => lstm::run(op, inputs),
        OpKind::LstmGradient(op) => lstm::run_gradient(op, inputs),
        OpKind::Gru(op) => gru::run(op, inputs),
        OpKind::GruGradient(op) => gru::run_gradient(op, inputs),
        OpKind::Cast(op) => cast::run(op, inputs),
        OpKind::NotEqual(op) => not_equal::run(op, inputs),
        OpKind::CrossEntropy(op) => cross_entropy::run(op, inputs),
        OpKind::CrossEntropyGradient(op) => cross_entropy::run_gradient(op, inputs),
        OpKind::Accuracy(op) => cross_entropy::run_accuracy(op, inputs),
        OpKind::RandomNormal(op) => random_normal::run(op, inputs),
        OpKind::Fill(op) => fill::run(op, inputs),
        OpKind::AllFinite(op) => all_finite::run(op, inputs),
        OpKind::Update(op) => update::run(op, inputs),
    };
    results.into_iter().zip(outputs).map(|(data, tensor)| Tensor::new(tensor, data)).collect()
}
