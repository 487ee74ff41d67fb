//! How much an op computes and moves: floating-point operations and bytes, from its types alone.
//!
//! Conventions. A multiply-add counts 2, so a convolution counts twice its multiply-accumulates; padding is counted
//! like any other pixel, as published figures do. An elementwise function counts 1 an element, one with an exponential,
//! a logarithm or a root in it [`TRANSCENDENTAL`]; what is only moved or compared as an index counts 0. Bytes are those
//! of the inputs and outputs, each counted once; a table of which only some rows are read counts those rows.
//!
//! These are counts, not times: [`crate::Profile`] turns them into seconds.

use crate::bytes_of;
use plimsoll_graph::op::{Attention, Binary, MatMul, Rule, Unary, Update};
use plimsoll_graph::{Graph, OpId, OpKind, TensorType};
use std::iter::Sum;
use std::ops::Add;

/// What an exponential, a logarithm, a root or a random number counts: about as many multiply-adds as its polynomial
/// has.
pub const TRANSCENDENTAL: u64 = 8;

/// What an op computes and moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// The work of an op of that kind on values of these types.
pub fn work(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
    match kind.is_view() {
        true => Work::default(),
        false => Work { flops: flops(kind, inputs, outputs), bytes: bytes(kind, inputs, outputs) },
    }
}

/// The work of one op of a graph.
pub fn graph_work(graph: &Graph, op: OpId) -> Work {
    let op = graph.op(op);
    let types = |ids: &[_]| ids.iter().map(|&id| graph.tensor(id).clone()).collect::<Vec<_>>();
    work(&op.kind, &types(&op.inputs), &types(&op.outputs))
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work { flops: self.flops.saturating_add(other.flops), bytes: self.bytes.saturating_add(other.bytes) }
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Work>>(works: I) -> Work {
        works.fold(Work::default(), Work::add)
    }
}

fn flops(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
    let read = |index: usize| elements(&inputs[index]);
    let written = || elements(&outputs[0]);
    match kind {
        OpKind::MatMul(op) => product([2, written(), inner_extent(op, &inputs[0])]),
        OpKind::Conv2d(_) => product([2, written(), filter_taps(&inputs[1])]),
        OpKind::Conv2dFilterGradient(_) => product([2, read(1), filter_taps(&outputs[0])]),
        OpKind::TransposedConv2d(_) => product([2, read(0), filter_taps(&inputs[1])]),
        OpKind::DepthwiseConv2d(_) => product([2, written(), window(&inputs[1])]),
        OpKind::DepthwiseConv2dInputGradient(_) => product([2, read(0), window(&inputs[1])]),
        OpKind::DepthwiseConv2dFilterGradient(_) => product([2, read(1), window(&outputs[0])]),
        OpKind::BiasAdd(_) => written(),
        OpKind::Pool2d(op) => product([written(), area(op.window)]),
        OpKind::MaxPool2dGradient(op) => product([read(2), area(op.window)]),
        OpKind::AveragePool2dGradient(op) => product([read(0), area(op.window)]),
        // Sum; difference, square and sum; scale and shift.
        OpKind::BatchNorm(_) | OpKind::LayerNorm(_) => product([6, read(0)]),
        OpKind::BatchNormInference(_) => product([2, read(0)]),
        // Normalizing again, two sums of products, and a linear combination of three terms.
        OpKind::BatchNormGradient(_) | OpKind::LayerNormGradient(_) => product([10, read(0)]),
        OpKind::MovingAverage(_) => product([3, written()]),
        OpKind::Dropout(_) => product([TRANSCENDENTAL, written()]),
        OpKind::Unary(function) => product([per_element(*function), written()]),
        OpKind::UnaryGradient(gradient) => product([1 + per_element(gradient.0), written()]),
        OpKind::Binary(function) => product([per_pair(*function), written()]),
        OpKind::Select(_) | OpKind::Cumulate(_) => written(),
        // About as many comparisons an element as its logarithm has.
        OpKind::ArgSort(_) => product([TRANSCENDENTAL, read(0)]),
        OpKind::TakeAlong(_) | OpKind::Constant(_) => 0,
        OpKind::TakeAlongGradient(_) => read(1),
        // Maximum, difference, exponential, sum, quotient.
        OpKind::Softmax(_) | OpKind::LogSoftmax(_) => product([4 + TRANSCENDENTAL, read(0)]),
        OpKind::SoftmaxGradient(_) => product([4, read(0)]),
        OpKind::LogSoftmaxGradient(_) => product([3 + TRANSCENDENTAL, read(0)]),
        OpKind::Broadcast(_) | OpKind::Concat(_) | OpKind::Slice(_) | OpKind::Pad(_) => 0,
        OpKind::Reshape(_) | OpKind::Transpose(_) | OpKind::Embedding(_) | OpKind::Fill(_) => 0,
        OpKind::EmbeddingGradient(_) => read(1),
        OpKind::Reduce(_) => read(0),
        OpKind::ReduceMaxGradient(_) => product([2, read(0)]),
        OpKind::RandomNormal(_) => product([3 * TRANSCENDENTAL, written()]),
        OpKind::RandomUniform(_) => product([TRANSCENDENTAL, written()]),
        OpKind::Warp(_) => product([4, written()]),
        OpKind::Resize2d(_) => product([4, written()]),
        OpKind::Resize2dGradient(_) => product([4, read(0)]),
        OpKind::Upsample2d(_) => product([4, written()]),
        OpKind::Upsample2dGradient(_) => product([4, read(0)]),
        OpKind::Attention(op) => attention(op, inputs, 1, 1),
        // The scores again, then the gradients of queries and keys, of values and probabilities.
        OpKind::AttentionGradient(op) => attention(&op.0, inputs, 3, 2),
        OpKind::Lstm(_) => recurrent(&inputs[0], &inputs[1], 1, 5 * TRANSCENDENTAL),
        OpKind::LstmGradient(_) => recurrent(&inputs[3], &inputs[0], 2, 4 * TRANSCENDENTAL),
        OpKind::Gru(_) => recurrent(&inputs[0], &inputs[1], 1, 4 * TRANSCENDENTAL),
        OpKind::GruGradient(_) => recurrent(&inputs[2], &inputs[0], 2, 3 * TRANSCENDENTAL),
        OpKind::Cast(_) | OpKind::NotEqual(_) | OpKind::OneHot(_) => written(),
        // A search in a table, or a hash of some digits.
        OpKind::Bucket(_) => product([2 * TRANSCENDENTAL, written()]),
        OpKind::CrossEntropy(_) | OpKind::CrossEntropyGradient(_) => product([4 + TRANSCENDENTAL, read(0)]),
        OpKind::Accuracy(_) => read(0),
        OpKind::AllFinite(_) => inputs.iter().map(elements).fold(0, u64::saturating_add),
        OpKind::Update(rule) => product([per_parameter(rule), read(0)]),
    }
}

/// Everything that is read or written, once; of a table only the rows that are used.
fn bytes(kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
    let size = |tensor: &TensorType| bytes_of(tensor).0;
    let written: u64 = outputs.iter().map(size).sum();
    let read = match looked_up(kind) {
        Some(ids) => inputs[ids].iter().map(size).sum::<u64>() + written,
        None => inputs.iter().map(size).sum(),
    };
    read + written
}

/// For ops that read of their first input only what they write: the inputs that are read whole.
fn looked_up(kind: &OpKind) -> Option<std::ops::RangeFrom<usize>> {
    matches!(kind, OpKind::Embedding(_) | OpKind::TakeAlong(_) | OpKind::Slice(_)).then_some(1..)
}

/// Flops an element of a function of one number.
fn per_element(function: Unary) -> u64 {
    match function {
        Unary::Relu | Unary::Relu6 | Unary::LeakyRelu(_) | Unary::HardSigmoid | Unary::HardSwish => 1,
        Unary::Square | Unary::Abs | Unary::Negate | Unary::AddScalar(_) | Unary::MultiplyScalar(_) => 1,
        Unary::MaximumScalar(_) | Unary::Huber(_) => 1,
        Unary::Elu(_) | Unary::Sigmoid | Unary::Tanh | Unary::Swish | Unary::Gelu => TRANSCENDENTAL,
        Unary::Softplus | Unary::GeluTanh | Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt => {
            TRANSCENDENTAL
        }
        Unary::PowerScalar(_) => 2 * TRANSCENDENTAL,
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Sign => 1,
        Unary::IsNan | Unary::IsFinite | Unary::Detach => 1,
        Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => TRANSCENDENTAL,
        Unary::Sinh | Unary::Cosh | Unary::Asinh | Unary::Acosh | Unary::Atanh => TRANSCENDENTAL,
        Unary::Erf | Unary::ErfInv | Unary::Log1p | Unary::Expm1 => TRANSCENDENTAL,
    }
}

/// Flops an element of a function of two numbers.
fn per_pair(function: Binary) -> u64 {
    match function {
        Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide => 1,
        Binary::Maximum | Binary::Minimum | Binary::GreaterEqual | Binary::Less => 1,
        Binary::Equal | Binary::NotEqual => 1,
        Binary::Power => 2 * TRANSCENDENTAL,
        Binary::Modulo | Binary::Atan2 => TRANSCENDENTAL,
    }
}

/// Flops a parameter of an update.
fn per_parameter(update: &Update) -> u64 {
    let rule = match update.rule {
        Rule::Sgd | Rule::Motion { .. } | Rule::Gather | Rule::Scale { .. } => 2,
        Rule::Momentum { .. } => 4,
        Rule::Lion { .. } => 6,
        Rule::RmsProp { .. } | Rule::Adagrad { .. } => 5 + TRANSCENDENTAL,
        Rule::Adam { .. } | Rule::Adamax { .. } | Rule::Nadam { .. } => 10 + TRANSCENDENTAL,
        Rule::Lamb { .. } | Rule::Adafactor { .. } => 12 + 2 * TRANSCENDENTAL,
        Rule::ScheduleFree { .. } => 14 + TRANSCENDENTAL,
        Rule::Adadelta { .. } => 8 + 2 * TRANSCENDENTAL,
        Rule::Ftrl { .. } => 12 + 4 * TRANSCENDENTAL,
    };
    let average = update.average.map_or(0, |_| 3);
    let constraint = update.constraint.as_ref().map_or(0, |_| 4);
    rule + average + constraint + if update.weight_decay == 0.0 { 0 } else { 3 }
}

/// Products over the keys' width and over the values' width, for each pair of a query and a key that it sees.
fn attention(op: &Attention, inputs: &[TensorType], over_keys: u64, over_values: u64) -> u64 {
    let [n, t, h, d] = [0, 1, 2, 3].map(|axis| inputs[0].shape[axis] as u64);
    let [s, e] = [inputs[1].shape[1] as u64, inputs[2].shape[3] as u64];
    let pairs = product([n, h, t, s]) / if op.causal { 2 } else { 1 };
    let a_pair = 2 * (over_keys * d + over_values * e) + TRANSCENDENTAL;
    product([pairs, a_pair])
}

/// `products` matrix products of all gates with the recurrent kernel, and some flops for each unit at each time.
fn recurrent(gates: &TensorType, kernel: &TensorType, products: u64, per_unit: u64) -> u64 {
    let positions = gates.shape.rows() as u64;
    let [units, width] = [kernel.shape[0] as u64, kernel.shape[1] as u64];
    product([2 * products, positions, units, width]).saturating_add(product([per_unit, positions, units]))
}

/// The extent that a matrix product sums over.
fn inner_extent(op: &MatMul, a: &TensorType) -> u64 {
    let rank = a.shape.rank();
    a.shape[if op.transpose_a { rank - 2 } else { rank - 1 }] as u64
}

/// How many inputs one output of a convolution sums, for a filter `[kh, kw, c/groups, f]`.
fn filter_taps(filter: &TensorType) -> u64 {
    product([window(filter), filter.shape[2] as u64])
}

/// Rows times columns of a filter.
fn window(filter: &TensorType) -> u64 {
    area([filter.shape[0], filter.shape[1]])
}

fn area([rows, columns]: [usize; 2]) -> u64 {
    product([rows as u64, columns as u64])
}

fn elements(tensor: &TensorType) -> u64 {
    tensor.shape.elements() as u64
}

/// A product that stays at the largest number instead of wrapping: absurd shapes are planned, too, before they are
/// refused.
fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_graph::op::{Conv2d, Conv2dFilterGradient, DepthwiseConv2d, Embedding, Padding, Reshape};
    use plimsoll_graph::op::{Sliding, TransposedConv2d};

    fn of(kind: impl Into<OpKind>, inputs: &[TensorType]) -> Work {
        let kind = kind.into();
        let outputs = kind.infer(inputs).expect("the types fit");
        work(&kind, inputs, &outputs)
    }

    fn f32<const N: usize>(shape: [usize; N]) -> TensorType {
        TensorType::f32(shape)
    }

    #[test]
    fn matrix_products_count_two_a_multiply_add() {
        let plain = of(MatMul::default(), &[f32([5, 7]), f32([7, 3])]);
        assert_eq!(plain, Work { flops: 2 * 5 * 7 * 3, bytes: 4 * (35 + 21 + 15) });
        let transposed = MatMul { transpose_a: true, transpose_b: true };
        assert_eq!(of(transposed, &[f32([7, 5]), f32([3, 7])]).flops, plain.flops);
        assert_eq!(of(MatMul::default(), &[f32([4, 5, 7]), f32([4, 7, 3])]).flops, 4 * plain.flops);
    }

    #[test]
    fn a_convolution_and_its_gradients_count_the_same() {
        let conv = Conv2d {
            sliding: Sliding { strides: [2, 2], padding: Padding::Same, ..Default::default() },
            groups: 1,
        };
        let (image, filter, result) = (f32([2, 8, 8, 4]), f32([3, 3, 4, 6]), f32([2, 4, 4, 6]));
        let by_hand = 2 * (2 * 4 * 4 * 6) * (3 * 3 * 4);
        assert_eq!(of(conv, &[image.clone(), filter.clone()]).flops, by_hand);
        let by_filter = Conv2dFilterGradient { conv, window: [3, 3] };
        assert_eq!(of(by_filter, &[image, result.clone()]).flops, by_hand);
        assert_eq!(of(TransposedConv2d { conv, size: [8, 8] }, &[result, filter]).flops, by_hand);
    }

    #[test]
    fn groups_and_depthwise_filters_sum_fewer_channels() {
        let grouped = Conv2d { groups: 2, ..Default::default() };
        assert_eq!(of(grouped, &[f32([1, 5, 5, 4]), f32([3, 3, 2, 8])]).flops, 2 * (9 * 8) * (9 * 2));
        let depthwise = of(DepthwiseConv2d::default(), &[f32([1, 5, 5, 4]), f32([3, 3, 4, 2])]);
        assert_eq!(depthwise, Work { flops: 2 * (9 * 8) * 9, bytes: 4 * (100 + 72 + 72) });
    }

    #[test]
    fn views_are_free_and_tables_count_the_rows_they_give() {
        assert_eq!(of(Reshape { shape: [6].into() }, &[f32([2, 3])]), Work::default());
        let lookup = of(Embedding {}, &[f32([10_000, 8]), TensorType::i32([5])]);
        assert_eq!(lookup, Work { flops: 0, bytes: 4 * 5 + 2 * (4 * 5 * 8) });
    }

    #[test]
    fn causal_attention_is_half_the_work() {
        let shape = f32([2, 16, 4, 8]);
        let inputs = [shape.clone(), shape.clone(), shape];
        let full = of(Attention { scale: 1.0, causal: false }, &inputs).flops;
        assert_eq!(full, (2 * 4 * 16 * 16) * (2 * (8 + 8) + TRANSCENDENTAL));
        assert_eq!(of(Attention { scale: 1.0, causal: true }, &inputs).flops, full / 2);
    }

    #[test]
    fn absurd_sizes_do_not_wrap() {
        let huge = f32([1 << 22, 1 << 22]);
        assert_eq!(of(MatMul::default(), &[huge.clone(), huge]).flops, u64::MAX);
    }
}
