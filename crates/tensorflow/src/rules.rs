//! Rules: what TensorFlow's kernels take and keep for each op, with the evidence for each rule from a trace.
//!
//! A rule adds the kernels of an op's forward pass and gives what will be done when the gradient of its result is
//! known. Kernels are added in the order in which Grappler leaves them among the consumers of one tensor; the executor
//! runs the last first. So the gradient of a layer's input is computed before that of its kernel, which waits until the
//! backward pass has come to the input.

mod attention;
mod convolution;
mod dilated;
mod elementwise;
pub mod group_norm;
mod grouped;
mod layout;
mod loss;
mod matmul;
mod normalization;
mod place;
mod pooling;
mod recurrent;
mod scratch;

pub use loss::loss;
pub use recurrent::{absorbed, find_plain, gives_last_only, plain};

use crate::lowering::{Backward, Lowering};
use plimsoll_graph::op::{Binary, Interpolation, Unary, Upsample2d};
use plimsoll_graph::{Op, OpKind, Source, ValueId};

/// Adds an op's forward kernels.
pub fn forward(at: &mut Lowering<'_>, op: &Op) -> Backward {
    if op.outputs.first().is_some_and(|&output| is_part_of_loop(at, output)) {
        return Box::new(|_, _| ());
    }
    if recurrent::takes_last_state(at, op) || loss::is_left_out(at, op) {
        return layout::reshape(at, op);
    }
    if !is_measured(&op.kind) {
        at.is_a_guess();
    }
    match &op.kind {
        OpKind::MatMul(kind) => matmul::matmul(at, op, *kind),
        OpKind::BiasAdd(_) => matmul::bias_add(at, op),
        OpKind::Conv2d(kind) if kind.groups > 1 => grouped::conv2d(at, op, 1),
        OpKind::Conv2d(kind) if dilated::has_holes(&kind.sliding) => dilated::conv2d(at, op, &kind.sliding),
        OpKind::Conv2d(kind) => convolution::conv2d(at, op, kind),
        OpKind::TransposedConv2d(kind) => convolution::transposed(at, op, kind),
        OpKind::DepthwiseConv2d(_) if grouped::is_conv2d(at, op) => {
            let channels = at.graph.tensor(op.inputs[0]).shape.last() as u64;
            grouped::conv2d(at, op, channels)
        }
        OpKind::DepthwiseConv2d(kind) if dilated::has_holes(&kind.sliding) => {
            dilated::conv2d(at, op, &kind.sliding)
        }
        OpKind::DepthwiseConv2d(_) => convolution::depthwise(at, op),
        OpKind::Pool2d(kind) => pooling::pool2d(at, op, kind.pool),
        OpKind::BatchNorm(_) => normalization::batch_norm(at, op),
        OpKind::BatchNormInference(_) => elementwise::linear(at, op, "Mul"),
        OpKind::LayerNorm(_) => normalization::layer_norm(at, op),
        OpKind::Dropout(_) => elementwise::dropout(at, op),
        OpKind::Unary(kind) => elementwise::unary(at, op, *kind),
        OpKind::Binary(kind) => elementwise::binary(at, op, *kind),
        OpKind::Select(_) => elementwise::select(at, op),
        OpKind::Cumulate(kind) => elementwise::cumulate(at, op, kind.product),
        OpKind::TakeAlong(_) => layout::moved(at, op, "GatherNd", "ScatterNd"),
        OpKind::Softmax(_) => elementwise::softmax(at, op),
        OpKind::LogSoftmax(_) => elementwise::log_softmax(at, op),
        OpKind::Broadcast(_) => layout::broadcast(at, op),
        OpKind::Concat(_) => layout::concat(at, op),
        OpKind::Slice(_) => layout::moved(at, op, "StridedSlice", "StridedSliceGrad"),
        OpKind::Pad(_) => layout::moved(at, op, "Pad", "Slice"),
        OpKind::Reshape(_) => layout::reshape(at, op),
        OpKind::Transpose(_) => layout::moved(at, op, "Transpose", "Transpose"),
        OpKind::Upsample2d(Upsample2d { interpolation: Interpolation::Nearest, .. }) => {
            layout::moved(at, op, "ResizeNearestNeighbor", "ResizeNearestNeighborGrad")
        }
        OpKind::Upsample2d(Upsample2d {
            interpolation:
                Interpolation::Bilinear
                | Interpolation::Bicubic
                | Interpolation::Lanczos3
                | Interpolation::Lanczos5,
            ..
        })
        | OpKind::Resize2d(_) => layout::resized(at, op),
        OpKind::Embedding(_) => layout::embedding(at, op),
        OpKind::EmbeddingGradient(_) => layout::sums_by_ids(at, op),
        OpKind::Reduce(kind) => pooling::reduce(at, op, kind.reduction),
        OpKind::Attention(_) => attention::attention(at, op),
        OpKind::Lstm(_) => recurrent::lstm(at, op),
        OpKind::Gru(_) => recurrent::gru(at, op),
        OpKind::Cast(_) | OpKind::NotEqual(_) | OpKind::Fill(_) | OpKind::RandomNormal(_) => {
            layout::constant(at, op)
        }
        OpKind::ArgSort(_) | OpKind::Constant(_) => layout::constant(at, op),
        // No evidence for these: each takes its result.
        OpKind::Bucket(_) | OpKind::OneHot(_) | OpKind::RandomUniform(_) | OpKind::Warp(_) => {
            layout::constant(at, op)
        }
        // A forward graph has none of these.
        OpKind::Conv2dFilterGradient(_)
        | OpKind::DepthwiseConv2dInputGradient(_)
        | OpKind::DepthwiseConv2dFilterGradient(_)
        | OpKind::MaxPool2dGradient(_)
        | OpKind::AveragePool2dGradient(_)
        | OpKind::BatchNormGradient(_)
        | OpKind::MovingAverage(_)
        | OpKind::LayerNormGradient(_)
        | OpKind::UnaryGradient(_)
        | OpKind::SoftmaxGradient(_)
        | OpKind::LogSoftmaxGradient(_)
        | OpKind::ReduceMaxGradient(_)
        | OpKind::TakeAlongGradient(_)
        | OpKind::Upsample2dGradient(_)
        | OpKind::Resize2dGradient(_)
        | OpKind::AttentionGradient(_)
        | OpKind::LstmGradient(_)
        | OpKind::GruGradient(_)
        | OpKind::CrossEntropy(_)
        | OpKind::CrossEntropyGradient(_)
        | OpKind::Accuracy(_)
        | OpKind::AllFinite(_)
        | OpKind::Update(_) => layout::constant(at, op),
    }
}

/// Whether a measured model has had such an op; what others add is a guess until one has.
fn is_measured(kind: &OpKind) -> bool {
    match kind {
        OpKind::Unary(kind) => matches!(
            kind,
            Unary::Relu
                | Unary::Relu6
                | Unary::Sigmoid
                | Unary::Tanh
                | Unary::Swish
                | Unary::Gelu
                | Unary::HardSigmoid
                | Unary::HardSwish
                | Unary::Negate
                | Unary::AddScalar(_)
                | Unary::MultiplyScalar(_)
        ),
        kind => matches!(
            kind,
            OpKind::MatMul(_)
                | OpKind::BiasAdd(_)
                | OpKind::Conv2d(_)
                | OpKind::TransposedConv2d(_)
                | OpKind::DepthwiseConv2d(_)
                | OpKind::Pool2d(_)
                | OpKind::BatchNorm(_)
                | OpKind::LayerNorm(_)
                | OpKind::Dropout(_)
                | OpKind::Binary(Binary::Add | Binary::Subtract | Binary::Multiply)
                | OpKind::Softmax(_)
                | OpKind::Broadcast(_)
                | OpKind::Concat(_)
                | OpKind::Slice(_)
                | OpKind::Pad(_)
                | OpKind::Reshape(_)
                | OpKind::Transpose(_)
                | OpKind::Upsample2d(_)
                | OpKind::Embedding(_)
                | OpKind::Reduce(_)
                | OpKind::Attention(_)
                | OpKind::Lstm(_)
                | OpKind::Gru(_)
                | OpKind::Cast(_)
                | OpKind::NotEqual(_)
                | OpKind::Fill(_)
        ),
    }
}

fn is_part_of_loop(at: &Lowering<'_>, output: ValueId) -> bool {
    matches!(at.graph.value(output).source, Source::Op(op) if at.absorbed.contains(&op))
}
