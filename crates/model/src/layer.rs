//! Layers: the table of everything a model can be made of.
//!
//! One layer is one file in `layer/`: its settings, named as in Keras's configuration, and how it is lowered to ops.
//! Parameters are called as Keras calls them, `<layer>/kernel` and so on.

mod activation;
mod adaptive_pooling;
mod alpha_dropout;
mod attention;
mod augmentation;
mod auto_contrast;
mod batch_normalization;
mod begun;
mod beside;
mod bidirectional;
mod category_encoding;
mod channels_first;
mod concatenate;
mod context;
mod conv1d;
mod conv2d;
mod conv2d_transpose;
mod conv3d;
mod conv_lstm;
mod conv_transpose;
mod cropping1d;
mod cropping2d;
mod custom_scale_layer;
mod dense;
mod depthwise_conv1d;
mod depthwise_conv2d;
mod discretization;
mod dot;
mod dropout;
mod einsum_dense;
mod embedding;
mod flatten;
mod fold;
mod gaussian_noise;
mod global_pooling;
mod group_normalization;
mod gru;
mod hashing;
mod integer_lookup;
mod kept;
mod layer_normalization;
mod layer_scale;
mod lstm;
mod mask_operation;
mod masking;
mod masks;
mod merge;
mod multi_head_attention;
mod normalization;
mod operation;
mod permute;
mod pooling1d;
mod pooling2d;
mod prelu;
mod recurrent;
mod relu;
mod repeat_vector;
mod rescaling;
mod reshape;
mod resizing;
mod reversible_embedding;
mod rms_normalization;
mod separable_conv1d;
mod separable_conv2d;
mod simple_rnn;
mod softmax;
mod stacked_rnn;
mod stepwise;
mod stochastic_depth;
mod time_distributed;
mod unit_normalization;
mod up_sampling1d;
mod up_sampling2d;
mod visible;
mod volume;
mod volumes;
mod zero_padding1d;
mod zero_padding2d;

pub use activation::Activation;
pub use adaptive_pooling::AdaptivePooling;
pub use alpha_dropout::AlphaDropout;
pub use attention::{Attention, Score};
pub use augmentation::{Augmentation, Interval, View};
pub use auto_contrast::AutoContrast;
pub use batch_normalization::BatchNormalization;
pub(crate) use begun::is_state;
pub use beside::Beside;
pub use bidirectional::{Bidirectional, MergeMode};
pub use category_encoding::{CategoryEncoding, Encoding};
pub use channels_first::ChannelsFirst;
pub use concatenate::Concatenate;
pub use context::{Context, Signal};
pub use conv_lstm::ConvLstm;
pub use conv_transpose::{Conv1dTranspose, Conv3dTranspose};
pub use conv1d::{Conv1d, TimePadding};
pub use conv2d::Conv2d;
pub use conv2d_transpose::Conv2dTranspose;
pub use conv3d::Conv3d;
pub use cropping1d::Cropping1d;
pub use cropping2d::Cropping2d;
pub use custom_scale_layer::CustomScaleLayer;
pub use dense::Dense;
pub use depthwise_conv1d::DepthwiseConv1d;
pub use depthwise_conv2d::DepthwiseConv2d;
pub use discretization::Discretization;
pub use dot::Dot;
pub use dropout::Dropout;
pub use einsum_dense::EinsumDense;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use fold::{Fold, Unfold};
pub use gaussian_noise::{GaussianDropout, GaussianNoise};
pub use global_pooling::GlobalPooling;
pub use group_normalization::GroupNormalization;
pub use gru::Gru;
pub use hashing::Hashing;
pub use integer_lookup::IntegerLookup;
pub use kept::Kept;
pub use layer_normalization::LayerNormalization;
pub use layer_scale::LayerScale;
pub use lstm::Lstm;
pub use mask_operation::MaskOperation;
pub use masking::Masking;
pub(crate) use masks::with_mask;
pub use merge::Merge;
pub use multi_head_attention::MultiHeadAttention;
pub use normalization::Normalization;
pub use operation::{Function, Index, Named, Operand, Operation};
pub use permute::Permute;
pub use pooling1d::Pooling1d;
pub use pooling2d::Pooling2d;
pub use prelu::PRelu;
pub use recurrent::Recurrent;
pub use relu::Relu;
pub use repeat_vector::RepeatVector;
pub use rescaling::Rescaling;
pub use reshape::Reshape;
pub use resizing::{Aspect, CenterCrop, Resizing};
pub use reversible_embedding::ReversibleEmbedding;
pub use rms_normalization::RmsNormalization;
pub use separable_conv1d::SeparableConv1d;
pub use separable_conv2d::SeparableConv2d;
pub use simple_rnn::SimpleRnn;
pub use softmax::Softmax;
pub use stacked_rnn::StackedRnn;
pub use stochastic_depth::StochasticDepth;
pub use time_distributed::TimeDistributed;
pub use unit_normalization::UnitNormalization;
pub use up_sampling1d::UpSampling1d;
pub use up_sampling2d::UpSampling2d;
pub use volumes::{Cropping3d, Pooling3d, UpSampling3d, ZeroPadding3d};
pub use zero_padding1d::ZeroPadding1d;
pub use zero_padding2d::ZeroPadding2d;

use crate::Mode;
use plimsoll_graph::ShapeError;
use serde::{Deserialize, Serialize};

/// What lowering a layer gives: its result with the mask that goes on, or what is wrong.
pub type Lowered = Result<Signal, ShapeError>;

/// Declares the table of layers once, so that a new layer is one line here and one file.
macro_rules! layers {
    ($($layer:ident),* $(,)?) => {
        /// Everything a model can be made of. Settings are documented at each layer's struct.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)]
        pub enum Layer {
            $($layer($layer),)*
        }

        impl Layer {
            /// The name Keras gives layers of this kind, such as `conv2d`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$layer(layer) => layer.kind(),)*
                }
            }

            /// Adds the layer's parameters and ops to the graph.
            pub fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
                match self {
                    $(Self::$layer(layer) => layer.lower(at, inputs),)*
                }
            }
        }

        $(impl From<$layer> for Layer {
            fn from(layer: $layer) -> Self {
                Self::$layer(layer)
            }
        })*
    };
}

impl Layer {
    /// Whether Keras's layer gives back its very input where there is nothing to do, rather than an equal tensor.
    pub(crate) fn gives_back(&self) -> bool {
        match self {
            Self::Activation(_) | Self::Dropout(_) | Self::GaussianDropout(_) => true,
            Self::AlphaDropout(_) | Self::GaussianNoise(_) => true,
            Self::Operation(operation) => matches!(operation.function, Function::Cast { .. }),
            _ => false,
        }
    }
}

impl Layer {
    /// The layer without what one of its calls says: calls of a shared layer have this in common.
    pub(crate) fn of_any_call(&self) -> Self {
        let mut layer = self.clone();
        match &mut layer {
            Self::MultiHeadAttention(attention) => {
                attention.use_causal_mask = false;
                attention.attention_mask = false;
                attention.return_attention_scores = false;
            }
            Self::Attention(attention) => {
                attention.use_causal_mask = false;
                attention.return_attention_scores = false;
            }
            Self::ReversibleEmbedding(embedding) => embedding.reverse = false,
            _ => {}
        }
        layer
    }

    /// Whether a list of masks that the layer is called with is all of them: an input without one there has none.
    pub(crate) fn is_told_all_masks(&self) -> bool {
        matches!(self, Self::Attention(_))
    }

    /// Whether the layer leaves the mask out that its first input brings along: Keras gives masks of their own accord
    /// only to calls of one tensor, so a sequence that comes with states is read as if it had no padding.
    pub(crate) fn overlooks_mask(&self, inputs: usize) -> bool {
        inputs > 1 && self.recurs()
    }

    /// Whether the layer goes through sequences step by step.
    fn recurs(&self) -> bool {
        matches!(self, Self::Lstm(_) | Self::Gru(_) | Self::SimpleRnn(_) | Self::ConvLstm(_))
            || matches!(self, Self::StackedRnn(_) | Self::Bidirectional(_))
    }

    /// Whether a batch begins with what the one before it has left.
    pub fn is_stateful(&self) -> bool {
        match self {
            Self::Lstm(layer) => layer.stateful,
            Self::Gru(layer) => layer.stateful,
            Self::SimpleRnn(layer) => layer.stateful,
            Self::ConvLstm(layer) => layer.stateful,
            Self::StackedRnn(layer) => layer.stateful,
            Self::Bidirectional(both) => both.layer.is_stateful(),
            _ => false,
        }
    }

    /// Whether the layer gives back its very input in a graph of this kind.
    pub(crate) fn does_nothing(&self, mode: Mode) -> bool {
        let idle = mode == Mode::Inference;
        match self {
            Self::Activation(activation) => *activation == Activation::Linear,
            Self::Dropout(dropout) => idle || dropout.rate == 0.0,
            Self::GaussianDropout(dropout) => idle || dropout.rate == 0.0,
            Self::GaussianNoise(noise) => idle || noise.stddev == 0.0,
            _ => false,
        }
    }
}

layers! {
    Activation,
    AdaptivePooling,
    AlphaDropout,
    Attention,
    Augmentation,
    AutoContrast,
    BatchNormalization,
    Beside,
    Bidirectional,
    CategoryEncoding,
    CenterCrop,
    ChannelsFirst,
    Concatenate,
    Conv1d,
    Conv1dTranspose,
    Conv2d,
    Conv2dTranspose,
    Conv3d,
    Conv3dTranspose,
    ConvLstm,
    Cropping1d,
    Cropping2d,
    Cropping3d,
    CustomScaleLayer,
    Dense,
    DepthwiseConv1d,
    DepthwiseConv2d,
    Discretization,
    Dot,
    Dropout,
    EinsumDense,
    Embedding,
    Flatten,
    Fold,
    GaussianDropout,
    GaussianNoise,
    GlobalPooling,
    GroupNormalization,
    Gru,
    Hashing,
    IntegerLookup,
    LayerNormalization,
    LayerScale,
    Lstm,
    MaskOperation,
    Masking,
    Merge,
    MultiHeadAttention,
    Normalization,
    Operation,
    PRelu,
    Permute,
    Pooling1d,
    Pooling2d,
    Pooling3d,
    Relu,
    RepeatVector,
    Rescaling,
    Reshape,
    Resizing,
    ReversibleEmbedding,
    RmsNormalization,
    SeparableConv1d,
    SeparableConv2d,
    SimpleRnn,
    Softmax,
    StackedRnn,
    StochasticDepth,
    TimeDistributed,
    Unfold,
    UnitNormalization,
    UpSampling1d,
    UpSampling2d,
    UpSampling3d,
    ZeroPadding1d,
    ZeroPadding2d,
    ZeroPadding3d,
}
