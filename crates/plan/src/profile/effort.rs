//! What an op's time is made of: the quantities that a profile has a price for.
//!
//! They are [`Work`] as a kernel meets it. A product whose result is narrow wastes lanes of its vectors. What slides a
//! window, or works row by row, starts many short runs of neighbouring elements; that, and not the elements, is what
//! images with few channels cost. Bytes are dearer the less of them a cache can hold.

use super::class::geometry;
use crate::{Class, work};
use plimsoll_graph::{OpKind, Shape, TensorType};

/// Up to so many bytes an op finds most of what it reads in a cache, from so many on nearly nothing.
const CACHED: f64 = (1 << 20) as f64;
const UNCACHED: f64 = (32 << 20) as f64;
/// Columns of a result are computed so many at a time.
const LANES: u64 = 16;
/// What a cache moves at once, and how many of these starting a run costs.
const LINE: f64 = 64.0;
const START: f64 = 4.0;

/// What an op's time is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Floating-point operations, with those that are done in vain.
    pub flops: f64,
    /// Bytes that a cache gives, with what it costs to start runs of them.
    pub cached_bytes: f64,
    /// Bytes that come from memory or go there.
    pub memory_bytes: f64,
}

impl Effort {
    /// The effort of an op of that kind on values of these types.
    pub fn of(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> Self {
        let work = work(kind, inputs, outputs);
        let (flops, bytes) = (work.flops as f64, work.bytes as f64);
        let gathered = runs(kind, inputs, outputs);
        if Class::of(kind, inputs).is_some_and(Class::computes) {
            let flops = flops * waste(kind, inputs, outputs);
            return Self { flops, cached_bytes: gathered + bytes, memory_bytes: 0.0 };
        }
        let uncached = ((bytes / CACHED).ln() / (UNCACHED / CACHED).ln()).clamp(0.0, 1.0);
        Self { flops: 0.0, cached_bytes: gathered + bytes * (1.0 - uncached), memory_bytes: bytes * uncached }
    }

    /// The quantities in the order in which [`crate::Cost`] prices them; the first is the op itself.
    pub fn terms(&self) -> [f64; 4] {
        [1.0, self.flops, self.cached_bytes, self.memory_bytes]
    }
}

/// By how much a product's flops grow because its last vector of columns is not full.
fn waste(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> f64 {
    let groups = match geometry(kind, inputs) {
        Some((conv, _)) => conv.groups,
        None if matches!(kind, OpKind::MatMul(_)) => 1,
        None => return 1.0,
    };
    let columns = (outputs[0].shape.last() / groups).max(1) as u64;
    columns.next_multiple_of(LANES) as f64 / columns as f64
}

/// What starting and gathering runs comes to, in bytes of a cache.
fn runs(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> f64 {
    let elements = |tensor: &TensorType| tensor.shape.elements() as f64;
    let channels = |tensor: &TensorType| tensor.shape.last().max(1) as f64;
    let area = |[rows, columns]: [usize; 2]| rows as f64 * columns as f64;
    let window = |filter: &TensorType| area([filter.shape[0], filter.shape[1]]);
    match kind {
        OpKind::Conv2d(_) | OpKind::TransposedConv2d(_) | OpKind::Conv2dFilterGradient(_) => {
            windows(kind, inputs, outputs)
        }
        OpKind::DepthwiseConv2d(_) => {
            cost(elements(&outputs[0]) * window(&inputs[1]) / channels(&outputs[0]), channels(&outputs[0]))
        }
        OpKind::DepthwiseConv2dInputGradient(_) => {
            cost(elements(&inputs[0]) * window(&inputs[1]) / channels(&inputs[0]), channels(&inputs[0]))
        }
        OpKind::DepthwiseConv2dFilterGradient(_) => {
            cost(elements(&inputs[1]) * window(&outputs[0]) / channels(&inputs[1]), channels(&inputs[1]))
        }
        OpKind::Pool2d(op) => cost(outputs[0].shape.rows() as f64 * area(op.window), channels(&outputs[0])),
        OpKind::MaxPool2dGradient(op) => {
            cost(inputs[2].shape.rows() as f64 * area(op.window), channels(&inputs[2]))
        }
        OpKind::AveragePool2dGradient(op) => {
            cost(inputs[0].shape.rows() as f64 * area(op.window), channels(&inputs[0]))
        }
        OpKind::Softmax(_) | OpKind::SoftmaxGradient(_) | OpKind::LogSoftmax(_) => rows(&inputs[0]),
        OpKind::LogSoftmaxGradient(_) | OpKind::CrossEntropy(_) | OpKind::CrossEntropyGradient(_) => {
            rows(&inputs[0])
        }
        OpKind::Accuracy(_) | OpKind::LayerNorm(_) | OpKind::LayerNormGradient(_) => rows(&inputs[0]),
        OpKind::Binary(_) if inputs[0].shape != inputs[1].shape => {
            let smaller = inputs.iter().min_by_key(|input| input.shape.elements()).expect("there are two");
            stretched(&smaller.shape, &outputs[0].shape)
        }
        OpKind::Broadcast(_) => stretched(&inputs[0].shape, &outputs[0].shape),
        OpKind::Upsample2d(_) | OpKind::Resize2d(_) | OpKind::Warp(_) => rows(&outputs[0]),
        OpKind::OneHot(_) => rows(&outputs[0]),
        OpKind::Upsample2dGradient(_) | OpKind::Resize2dGradient(_) => rows(&inputs[0]),
        OpKind::Embedding(_) | OpKind::Slice(_) | OpKind::Pad(_) => rows(&outputs[0]),
        OpKind::EmbeddingGradient(_) | OpKind::TakeAlongGradient(_) => rows(&inputs[1]),
        OpKind::Cumulate(_) | OpKind::ArgSort(_) | OpKind::TakeAlong(_) => rows(&inputs[0]),
        OpKind::Concat(_) => inputs.iter().map(rows).sum(),
        OpKind::MatMul(_) | OpKind::BiasAdd(_) | OpKind::BatchNorm(_) | OpKind::BatchNormInference(_) => 0.0,
        OpKind::BatchNormGradient(_) | OpKind::MovingAverage(_) | OpKind::Dropout(_) => 0.0,
        OpKind::Unary(_) | OpKind::UnaryGradient(_) | OpKind::Binary(_) | OpKind::Reshape(_) => 0.0,
        OpKind::Transpose(_) | OpKind::Reduce(_) | OpKind::ReduceMaxGradient(_) => 0.0,
        OpKind::Attention(_) | OpKind::AttentionGradient(_) | OpKind::Lstm(_) | OpKind::LstmGradient(_) => {
            0.0
        }
        OpKind::Gru(_) | OpKind::GruGradient(_) | OpKind::Cast(_) | OpKind::NotEqual(_) => 0.0,
        OpKind::Select(_) | OpKind::Constant(_) => 0.0,
        OpKind::Bucket(_) | OpKind::RandomUniform(_) => 0.0,
        OpKind::Fill(_) | OpKind::RandomNormal(_) | OpKind::AllFinite(_) | OpKind::Update(_) => 0.0,
    }
}

/// A convolution gathers the rows of its windows; its transpose the pixels that each element of a window reads, and
/// adds up as many sums.
fn windows(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> f64 {
    let Some((conv, geometry)) = geometry(kind, inputs) else { return 0.0 };
    if geometry.window == [1, 1] {
        return 0.0;
    }
    let groups = conv.groups.max(1) as f64;
    let [rows, columns] = geometry.window.map(|extent| extent as f64);
    let images = inputs[0].shape[0] as f64;
    let pixels = images * geometry.output.map(|extent| extent as f64).iter().product::<f64>();
    if let OpKind::TransposedConv2d(_) = kind {
        let [from, to] = [&inputs[0], &outputs[0]].map(|tensor| tensor.shape.last() as f64 / groups);
        let taps = pixels * rows * columns * groups;
        return cost(taps, from) + cost(taps, to);
    }
    let channels = inputs[0].shape.last() as f64 / groups;
    match conv.groups == 1 && geometry.dilation[1] == 1 {
        true => cost(pixels * rows, columns * channels),
        false => cost(pixels * rows * columns * groups, channels),
    }
}

fn rows(tensor: &TensorType) -> f64 {
    cost(tensor.shape.rows() as f64, tensor.shape.last() as f64)
}

/// The runs of a result along which a smaller operand either advances or stays.
fn stretched(small: &Shape, large: &Shape) -> f64 {
    let missing = large.rank() - small.rank().min(large.rank());
    let own = |axis: usize| if axis < missing { 1 } else { small[axis - missing] };
    let mut length = 1;
    let mut stays = None;
    for axis in (0..large.rank()).rev().filter(|&axis| large[axis] > 1) {
        let here = own(axis) == 1;
        if *stays.get_or_insert(here) != here {
            break;
        }
        length *= large[axis];
    }
    cost((large.elements() / length.max(1)) as f64, length as f64)
}

/// So many runs of so many elements.
fn cost(runs: f64, elements: f64) -> f64 {
    runs * (START + (4.0 * elements / LINE).ceil()) * LINE
}
