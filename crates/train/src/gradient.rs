//! Gradients by graph transformation: one rule an op, one file of the op's name in `gradient/`.
//!
//! In: a graph with a scalar loss. Out: the same graph with backward ops appended, and the gradient of each
//! value asked for. Invariant: a rule adds ops only for gradients that lead to something that was asked for.
//! Method: reverse accumulation. Ops are visited from the last to the first; a value that is read
//! several times gets the sum of what its readers contribute.

mod attention;
mod batch_norm;
mod bias_add;
mod binary;
mod broadcast;
mod cast;
mod concat;
mod conv2d;
mod cross_entropy;
mod cumulate;
mod depthwise_conv2d;
mod dropout;
mod embedding;
mod gru;
mod layer_norm;
mod lstm;
mod matmul;
mod pad;
mod pool2d;
mod reduce;
mod reshape;
mod resize2d;
mod select;
mod slice;
mod softmax;
mod take_along;
mod transpose;
mod transposed_conv2d;
mod unary;
mod upsample2d;

use crate::TrainError;
use plimsoll_graph::op::{Binary, Fill};
use plimsoll_graph::{Graph, Op, OpId, OpKind, Phase, Shape, ShapeError, Site, ValueId};

/// Appends what computes the gradient of `loss` (a scalar) with respect to each of `wanted`; `None` where the loss
/// does not depend on it.
pub fn differentiate(
    graph: &mut Graph,
    loss: ValueId,
    wanted: &[ValueId],
) -> Result<Vec<Option<ValueId>>, TrainError> {
    let needed = depends_on(graph, wanted);
    let forward_ops = graph.ops().len() as u32;
    let mut gradients: Vec<Option<ValueId>> = vec![None; graph.values().len()];
    let site = Site { layer: None, phase: Phase::Backward };
    let shape = graph.tensor(loss).shape.clone();
    gradients[loss.index()] = Some(graph.add_single(Fill { shape, value: 1.0 }.into(), &[], site)?);
    for id in (0..forward_ops).rev().map(OpId) {
        let op = graph.op(id).clone();
        let Some(gradient) = output_gradient(&op, &gradients, &needed)? else { continue };
        let needs = op.inputs.iter().map(|input| needed[input.index()]).collect();
        let contributions = rule(&op.kind, &mut Backward { graph, op: &op, gradient, needs })?;
        for (&input, contribution) in op.inputs.iter().zip(contributions) {
            let Some(contribution) = contribution.filter(|_| needed[input.index()]) else { continue };
            let sum = match gradients[input.index()] {
                None => contribution,
                Some(other) => {
                    let site = Site { layer: op.layer, phase: Phase::Backward };
                    graph.add_single(Binary::Add.into(), &[other, contribution], site)?
                }
            };
            gradients[input.index()] = Some(sum);
        }
    }
    Ok(wanted.iter().map(|value| gradients[value.index()]).collect())
}

/// For each value, whether it is one of `roots` or computed from one.
fn depends_on(graph: &Graph, roots: &[ValueId]) -> Vec<bool> {
    let mut depends = vec![false; graph.values().len()];
    for root in roots {
        depends[root.index()] = true;
    }
    for op in graph.ops() {
        if !is_flat(&op.kind) && op.inputs.iter().any(|input| depends[input.index()]) {
            for output in &op.outputs {
                depends[output.index()] = graph.tensor(*output).element.is_float();
            }
        }
    }
    depends
}

/// Whether the result does not change with the arguments, wherever it changes at all smoothly: nothing flows back.
fn is_flat(kind: &OpKind) -> bool {
    if let OpKind::Unary(function) = kind {
        return function.is_flat();
    }
    matches!(kind, OpKind::Binary(function) if function.is_comparison())
}

/// The gradient of the op's first output, if it is known and somebody needs what follows from it.
/// Only the first output of an op carries a gradient; the others serve its own backward op.
fn output_gradient(
    op: &Op,
    gradients: &[Option<ValueId>],
    needed: &[bool],
) -> Result<Option<ValueId>, TrainError> {
    let (first, others) = op.outputs.split_first().expect("every op has an output");
    if others.iter().any(|output| gradients[output.index()].is_some()) {
        return Err(TrainError::AuxiliaryOutput { op: op.kind.name() });
    }
    let leads_on = op.inputs.iter().any(|input| needed[input.index()]);
    Ok(gradients[first.index()].filter(|_| leads_on))
}

/// What a gradient rule sees: one op of the forward graph, the gradient of its first output, and the graph to add to.
pub(crate) struct Backward<'g> {
    graph: &'g mut Graph,
    op: &'g Op,
    gradient: ValueId,
    needs: Vec<bool>,
}

/// What a gradient rule gives: the contribution to the gradient of each input, in the order of the inputs; `None` for
/// inputs that carry no gradient or that nobody needs.
pub(crate) type Contributions = Result<Vec<Option<ValueId>>, ShapeError>;

impl Backward<'_> {
    /// The op's input at that position.
    pub(crate) fn input(&self, index: usize) -> ValueId {
        self.op.inputs[index]
    }

    /// The op's input at that position, if it was given.
    pub(crate) fn optional_input(&self, index: usize) -> Option<ValueId> {
        self.op.inputs.get(index).copied()
    }

    /// The op's output at that position.
    pub(crate) fn output(&self, index: usize) -> ValueId {
        self.op.outputs[index]
    }

    /// How many inputs the op has.
    pub(crate) fn input_count(&self) -> usize {
        self.op.inputs.len()
    }

    /// The gradient of the op's first output.
    pub(crate) fn gradient(&self) -> ValueId {
        self.gradient
    }

    /// Whether anybody needs the gradient of that input. Rules that would add an op for it ask first.
    pub(crate) fn needs(&self, index: usize) -> bool {
        self.needs[index]
    }

    /// The shape of a value.
    pub(crate) fn shape(&self, value: ValueId) -> Shape {
        self.graph.tensor(value).shape.clone()
    }

    /// The element type of a value.
    pub(crate) fn element(&self, value: ValueId) -> plimsoll_graph::ElementType {
        self.graph.tensor(value).element
    }

    /// Adds a backward op of the same layer.
    pub(crate) fn add(
        &mut self,
        kind: impl Into<OpKind>,
        inputs: &[ValueId],
    ) -> Result<Vec<ValueId>, ShapeError> {
        self.graph.add_op(kind.into(), inputs, self.site())
    }

    /// Adds a backward op that has one output.
    pub(crate) fn single(
        &mut self,
        kind: impl Into<OpKind>,
        inputs: &[ValueId],
    ) -> Result<ValueId, ShapeError> {
        self.graph.add_single(kind.into(), inputs, self.site())
    }

    fn site(&self) -> Site {
        Site { layer: self.op.layer, phase: Phase::Backward }
    }
}

/// The table of rules.
fn rule(kind: &OpKind, at: &mut Backward<'_>) -> Result<Vec<Option<ValueId>>, TrainError> {
    let contributions = match kind {
        OpKind::MatMul(op) => matmul::gradient(op, at),
        OpKind::Conv2d(op) => conv2d::gradient(op, at),
        OpKind::TransposedConv2d(op) => transposed_conv2d::gradient(op, at),
        OpKind::DepthwiseConv2d(op) => depthwise_conv2d::gradient(op, at),
        OpKind::BiasAdd(op) => bias_add::gradient(op, at),
        OpKind::Pool2d(op) => pool2d::gradient(op, at),
        OpKind::BatchNorm(op) => batch_norm::gradient(op, at),
        OpKind::BatchNormInference(op) => batch_norm::gradient_inference(op, at),
        OpKind::LayerNorm(op) => layer_norm::gradient(op, at),
        OpKind::Dropout(op) => dropout::gradient(op, at),
        OpKind::Unary(op) => unary::gradient(op, at),
        OpKind::Binary(op) => binary::gradient(op, at),
        OpKind::Select(op) => select::gradient(op, at),
        OpKind::Softmax(op) => softmax::gradient(op, at),
        OpKind::LogSoftmax(op) => softmax::gradient_log_softmax(op, at),
        OpKind::Broadcast(op) => broadcast::gradient(op, at),
        OpKind::Concat(op) => concat::gradient(op, at),
        OpKind::Slice(op) => slice::gradient(op, at),
        OpKind::Pad(op) => pad::gradient(op, at),
        OpKind::Reshape(op) => reshape::gradient(op, at),
        OpKind::Transpose(op) => transpose::gradient(op, at),
        OpKind::Embedding(op) => embedding::gradient(op, at),
        OpKind::Reduce(op) => reduce::gradient(op, at),
        OpKind::Cumulate(op) => cumulate::gradient(op, at),
        OpKind::TakeAlong(op) => take_along::gradient(op, at),
        OpKind::Upsample2d(op) => upsample2d::gradient(op, at),
        OpKind::Resize2d(op) => resize2d::gradient(op, at),
        OpKind::Attention(op) => attention::gradient(op, at),
        OpKind::Lstm(op) => lstm::gradient(op, at),
        OpKind::Gru(op) => gru::gradient(op, at),
        OpKind::Cast(op) => cast::gradient(op, at),
        OpKind::EmbeddingGradient(op) => embedding::gradient_of_sums(op, at),
        OpKind::CrossEntropy(op) => cross_entropy::gradient(op, at),
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
        | OpKind::Upsample2dGradient(_)
        | OpKind::Resize2dGradient(_)
        | OpKind::AttentionGradient(_)
        | OpKind::LstmGradient(_)
        | OpKind::GruGradient(_)
        | OpKind::NotEqual(_)
        | OpKind::Bucket(_)
        | OpKind::OneHot(_)
        | OpKind::Warp(_)
        | OpKind::CrossEntropyGradient(_)
        | OpKind::Accuracy(_)
        | OpKind::ArgSort(_)
        | OpKind::TakeAlongGradient(_)
        | OpKind::Fill(_)
        | OpKind::Constant(_)
        | OpKind::RandomNormal(_)
        | OpKind::RandomUniform(_)
        | OpKind::AllFinite(_)
        | OpKind::Update(_) => return Err(TrainError::NotDifferentiable { op: kind.name() }),
    };
    Ok(contributions?)
}
