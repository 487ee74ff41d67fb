//! Ops: the table of everything that can be computed.
//!
//! One op has one file of this name at each stage: its attributes and shape rule here in `op/`, its gradient in
//! `train/src/gradient/`, its meaning in `exec/src/reference/`, its kernel in `exec/src/kernels/cpu/`. No `match` over
//! [`OpKind`] has a `_` arm, and [`of_op`](crate::of_op) asks traits of every op, so the compiler names what a new op
//! forgot.

mod all_finite;
mod arg_sort;
mod attention;
mod batch_norm;
mod bias_add;
mod binary;
mod broadcast;
mod bucket;
mod cast;
mod concat;
mod constant;
mod conv2d;
mod cross_entropy;
mod cumulate;
mod depthwise_conv2d;
mod dropout;
mod embedding;
mod expect;
mod fill;
mod gru;
mod layer_norm;
mod lstm;
mod matmul;
mod moving_average;
mod not_equal;
mod one_hot;
mod pad;
mod pool2d;
mod random_normal;
mod random_uniform;
mod reduce;
mod reshape;
mod resize2d;
mod select;
mod slice;
mod sliding;
mod softmax;
mod take_along;
mod transpose;
mod transposed_conv2d;
mod unary;
mod update;
mod upsample2d;
mod warp;

pub use all_finite::AllFinite;
pub use arg_sort::ArgSort;
pub use attention::{Attention, AttentionGradient};
pub use batch_norm::{BatchNorm, BatchNormGradient, BatchNormInference};
pub use bias_add::BiasAdd;
pub use binary::Binary;
pub use broadcast::Broadcast;
pub use bucket::{Bucket, Hash, Otherwise};
pub use cast::Cast;
pub use concat::Concat;
pub use constant::Constant;
pub use conv2d::{Conv2d, Conv2dFilterGradient};
pub use cross_entropy::{Accuracy, CrossEntropy, CrossEntropyGradient, Targets};
pub use cumulate::Cumulate;
pub use depthwise_conv2d::{DepthwiseConv2d, DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient};
pub use dropout::Dropout;
pub use embedding::{Embedding, EmbeddingGradient};
pub use fill::Fill;
pub use gru::{Gru, GruGradient};
pub use layer_norm::{LayerNorm, LayerNormGradient};
pub use lstm::{Lstm, LstmGradient};
pub use matmul::MatMul;
pub use moving_average::MovingAverage;
pub use not_equal::NotEqual;
pub use one_hot::OneHot;
pub use pad::Pad;
pub use pool2d::{AveragePool2dGradient, MaxPool2dGradient, Pool, Pool2d};
pub use random_normal::RandomNormal;
pub use random_uniform::RandomUniform;
pub use reduce::{Reduce, ReduceMaxGradient, Reduction};
pub use reshape::Reshape;
pub use resize2d::{Resize2d, Resize2dGradient};
pub use select::Select;
pub use slice::Slice;
pub use sliding::{Geometry, Padding, Sliding};
pub use softmax::{LogSoftmax, LogSoftmaxGradient, Softmax, SoftmaxGradient};
pub use take_along::{TakeAlong, TakeAlongGradient};
pub use transpose::Transpose;
pub use transposed_conv2d::TransposedConv2d;
pub use unary::{Saved, Unary, UnaryGradient};
pub use update::{Average, Constraint, Magnitude, Rule, Update};
pub use upsample2d::{Interpolation, Upsample2d, Upsample2dGradient};
pub use warp::{Outside, Warp};

use crate::samples::Placed;
use crate::{LayerId, Role, ShapeError, Site, TensorType, ValueId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names an op of one graph; ops are numbered in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpId(pub u32);

/// One application of an op to values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// What is computed.
    pub kind: OpKind,
    /// What it reads, in the order its shape rule names them.
    pub inputs: Vec<ValueId>,
    /// What it produces.
    pub outputs: Vec<ValueId>,
    /// The layer it is reported under.
    pub layer: Option<LayerId>,
    /// The part of the step it belongs to.
    pub phase: Phase,
    /// Whether it does what an op before it did, so that memory could be used for something else meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// The parts of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From the inputs to the loss.
    Forward,
    /// From the loss to the gradients.
    Backward,
    /// From the gradients to the new parameters.
    Update,
}

/// An output that takes the place of a persistent input: after the step the new value is what the old
/// one's name stands for. The two always share their storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// Position among the op's inputs.
    pub input: usize,
    /// Position among the op's outputs.
    pub output: usize,
}

/// Declares the op table once; every method over all ops is generated from it, so that a new op is one line.
macro_rules! op_kinds {
    ($dollar:tt $($kind:ident = $name:literal,)*) => {
        /// Everything that can be computed. Attributes, inputs and outputs are documented at each op's struct.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum OpKind {
            $(#[serde(rename = $name)] $kind($kind),)*
        }

        impl OpKind {
            /// The name used in the text form and in reports.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }

            /// The types of the outputs for inputs of the given types.
            pub fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, ShapeError> {
                let inferred = match self {
                    $(Self::$kind(op) => op.infer(inputs),)*
                };
                inferred.map_err(|problem| ShapeError { op: self.name().to_string(), inputs: inputs.to_vec(), problem })
            }

            /// Whether samples stay apart: whether each sample's part of the outputs is made from the same sample's
            /// part of the inputs.
            pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
                match self {
                    $(Self::$kind(op) => op.keeps_apart(at),)*
                }
            }
        }

        /// Does the same for whichever op a kind is: `of_op!(kind, op => op.run(call))`. Other crates dispatch with it,
        /// so that their tables of all ops are traits, which a new op must implement.
        #[macro_export]
        macro_rules! of_op {
            ($dollar of:expr, $dollar op:ident => $dollar then:expr) => {
                match $dollar of {
                    $($dollar crate::OpKind::$kind($dollar op) => $dollar then,)*
                }
            };
        }

        $(impl From<$kind> for OpKind {
            fn from(op: $kind) -> Self {
                Self::$kind(op)
            }
        })*
    };
}

op_kinds! {
    $
    MatMul = "matmul",
    Conv2d = "conv2d",
    Conv2dFilterGradient = "conv2d_filter_gradient",
    TransposedConv2d = "transposed_conv2d",
    DepthwiseConv2d = "depthwise_conv2d",
    DepthwiseConv2dInputGradient = "depthwise_conv2d_input_gradient",
    DepthwiseConv2dFilterGradient = "depthwise_conv2d_filter_gradient",
    BiasAdd = "bias_add",
    Pool2d = "pool2d",
    MaxPool2dGradient = "max_pool2d_gradient",
    AveragePool2dGradient = "average_pool2d_gradient",
    BatchNorm = "batch_norm",
    BatchNormInference = "batch_norm_inference",
    BatchNormGradient = "batch_norm_gradient",
    MovingAverage = "moving_average",
    LayerNorm = "layer_norm",
    LayerNormGradient = "layer_norm_gradient",
    Dropout = "dropout",
    Unary = "unary",
    UnaryGradient = "unary_gradient",
    Binary = "binary",
    Select = "select",
    Softmax = "softmax",
    SoftmaxGradient = "softmax_gradient",
    LogSoftmax = "log_softmax",
    LogSoftmaxGradient = "log_softmax_gradient",
    Broadcast = "broadcast",
    Concat = "concat",
    Slice = "slice",
    Pad = "pad",
    Reshape = "reshape",
    Transpose = "transpose",
    Embedding = "embedding",
    EmbeddingGradient = "embedding_gradient",
    Reduce = "reduce",
    ReduceMaxGradient = "reduce_max_gradient",
    Cumulate = "cumulate",
    ArgSort = "arg_sort",
    TakeAlong = "take_along",
    TakeAlongGradient = "take_along_gradient",
    Upsample2d = "upsample2d",
    Upsample2dGradient = "upsample2d_gradient",
    Resize2d = "resize2d",
    Resize2dGradient = "resize2d_gradient",
    Warp = "warp",
    Attention = "attention",
    AttentionGradient = "attention_gradient",
    Lstm = "lstm",
    LstmGradient = "lstm_gradient",
    Gru = "gru",
    GruGradient = "gru_gradient",
    Cast = "cast",
    NotEqual = "not_equal",
    Bucket = "bucket",
    OneHot = "one_hot",
    CrossEntropy = "cross_entropy",
    CrossEntropyGradient = "cross_entropy_gradient",
    Accuracy = "accuracy",
    Fill = "fill",
    Constant = "constant",
    RandomNormal = "random_normal",
    RandomUniform = "random_uniform",
    AllFinite = "all_finite",
    Update = "update",
}

impl OpKind {
    /// Which outputs replace which persistent inputs.
    pub fn updates(&self) -> Vec<Overwrite> {
        if let Self::Update(rule) = self {
            return rule.overwrites();
        }
        let replaces_first = matches!(self, Self::MovingAverage(_));
        Vec::from_iter(replaces_first.then_some(Overwrite { input: 0, output: 0 }))
    }

    /// Whether random numbers are drawn: by the position of an element, so that parts of a batch draw others than the
    /// whole.
    pub fn draws(&self) -> bool {
        matches!(self, Self::Dropout(_) | Self::RandomNormal(_) | Self::RandomUniform(_))
    }

    /// Whether it is the same op for another number of samples, which only shapes may depend on.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reshape(_), Self::Reshape(_)) | (Self::Broadcast(_), Self::Broadcast(_)) => true,
            (Self::Fill(one), Self::Fill(two)) => one.value.to_bits() == two.value.to_bits(),
            (Self::RandomNormal(one), Self::RandomNormal(two)) => {
                (one.deviation, one.seed) == (two.deviation, two.seed)
            }
            (Self::RandomUniform(one), Self::RandomUniform(two)) => one.seed == two.seed,
            (Self::Slice(one), Self::Slice(two)) => one.start == two.start,
            (one, two) => one == two,
        }
    }

    /// Whether the only output is the first input's bytes under another shape.
    pub fn is_view(&self) -> bool {
        matches!(self, Self::Reshape(_))
    }
}

impl Op {
    /// What decides whether an update happens: where it is 0, everything stays as it is. Nothing for ops that always do
    /// what they do.
    pub fn gate(&self) -> Option<ValueId> {
        let position = if let OpKind::Update(rule) = &self.kind {
            rule.gate()
        } else if let OpKind::MovingAverage(rule) = &self.kind {
            rule.gate()
        } else {
            return None;
        };
        self.inputs.get(position).copied()
    }

    /// Layer and phase together.
    pub fn site(&self) -> Site {
        Site { layer: self.layer, phase: self.phase }
    }
}

impl OpId {
    /// The position among the graph's ops.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Phase {
    /// All phases, in the order of a step.
    pub const ALL: [Phase; 3] = [Self::Forward, Self::Backward, Self::Update];

    /// The role of what ops of this phase produce, unless they update something.
    pub fn role(self) -> Role {
        match self {
            Self::Forward => Role::Activation,
            Self::Backward | Self::Update => Role::Gradient,
        }
    }

    /// The name used in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Update => "update",
        }
    }

    /// The phase of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
