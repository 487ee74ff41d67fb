//! Classes of ops that one kernel, or kernels of the same kind, run at the same rates.

use plimsoll_graph::op::{Binary, Conv2d, Geometry, Unary};
use plimsoll_graph::{OpKind, TensorType};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A product with fewer rows, or fewer terms in a sum, is thin.
const THIN: usize = 16;

/// Declares the classes once, with the names they have in files and tables.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// Ops that run at the same rates.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Class {
            $($(#[$doc])* $class,)*
        }

        impl Class {
            /// All classes, in the order in which tables list them.
            pub const ALL: &'static [Class] = &[$(Self::$class,)*];

            /// The name in tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Matrix products, and convolutions and image gradients that are one: 1x1 without strides.
    Product = "matrix product",
    /// Products with so few rows, or so few terms in a sum, that moving the factors is what takes time.
    ThinProduct = "thin matrix product",
    /// Convolutions that gather windows.
    Convolution = "convolution",
    /// Transposed convolutions: gradients by the image, and upsampling.
    ImageGradient = "image gradient",
    /// Gradients by the filter.
    FilterGradient = "filter gradient",
    /// Gradients by the filter of 1x1 convolutions without strides.
    PointwiseFilterGradient = "1x1 filter gradient",
    /// Depthwise convolutions.
    Depthwise = "depthwise",
    /// Their gradients by the image.
    DepthwiseImageGradient = "depthwise image gradient",
    /// Their gradients by the filter.
    DepthwiseFilterGradient = "depthwise filter gradient",
    /// Attention.
    Attention = "attention",
    /// Its gradient.
    AttentionGradient = "attention gradient",
    /// LSTM and GRU.
    Recurrence = "recurrence",
    /// Their gradients.
    RecurrenceGradient = "recurrence gradient",
    /// One instruction or two an element.
    Elementwise = "elementwise",
    /// Functions with several pieces, such as hard swish.
    Piecewise = "piecewise",
    /// Functions with one exponential.
    Exponential = "exponential",
    /// Functions with a hyperbolic tangent, a logarithm or a power.
    Tanh = "tanh and logarithm",
    /// The exact GELU and its derivative.
    Gelu = "gelu",
    /// What stretches an operand.
    Stretching = "stretching",
    /// Softmax, cross-entropy and their gradients, a row at a time.
    Softmax = "softmax and loss",
    /// Batch normalization.
    BatchNorm = "batch norm",
    /// Its gradient.
    BatchNormGradient = "batch norm gradient",
    /// Layer normalization and its gradient.
    LayerNorm = "layer norm",
    /// Sums, means and maxima over axes.
    Reduction = "reduction",
    /// Pooling of windows.
    Pooling = "pooling",
    /// Its gradients.
    PoolingGradient = "pooling gradient",
    /// What copies rows.
    Movement = "movement",
    /// What reorders single elements.
    Transposition = "transposition",
    /// Enlarging images, and the gradient.
    Upsampling = "upsampling",
    /// Dropout.
    Dropout = "dropout",
    /// The optimizers' rules, with the check that the gradient is finite.
    Update = "update",
}

impl Class {
    /// The class of an op, or none for a view, which runs nothing.
    pub fn of(kind: &OpKind, inputs: &[TensorType]) -> Option<Self> {
        let class = match kind {
            OpKind::MatMul(op) => of_product(&inputs[0], op.transpose_a),
            OpKind::Conv2d(_) if pointwise(kind, inputs) => of_product(&inputs[0], false),
            OpKind::Conv2d(_) => Self::Convolution,
            OpKind::TransposedConv2d(_) if pointwise(kind, inputs) => of_product(&inputs[0], false),
            OpKind::TransposedConv2d(_) => Self::ImageGradient,
            OpKind::Conv2dFilterGradient(_) if pointwise(kind, inputs) => Self::PointwiseFilterGradient,
            OpKind::Conv2dFilterGradient(_) => Self::FilterGradient,
            OpKind::DepthwiseConv2d(_) => Self::Depthwise,
            OpKind::DepthwiseConv2dInputGradient(_) => Self::DepthwiseImageGradient,
            OpKind::DepthwiseConv2dFilterGradient(_) => Self::DepthwiseFilterGradient,
            OpKind::Attention(_) => Self::Attention,
            OpKind::AttentionGradient(_) => Self::AttentionGradient,
            OpKind::Lstm(_) | OpKind::Gru(_) => Self::Recurrence,
            OpKind::LstmGradient(_) | OpKind::GruGradient(_) => Self::RecurrenceGradient,
            OpKind::Unary(function) => of_function(*function),
            OpKind::UnaryGradient(gradient) => of_derivative(gradient.0),
            OpKind::Binary(Binary::Power | Binary::Modulo | Binary::Atan2) => Self::Tanh,
            OpKind::Binary(_) if inputs[0].shape != inputs[1].shape => Self::Stretching,
            OpKind::Binary(_) | OpKind::BiasAdd(_) => Self::Elementwise,
            OpKind::MovingAverage(_) | OpKind::Cast(_) | OpKind::NotEqual(_) => Self::Elementwise,
            OpKind::Select(_) | OpKind::Cumulate(_) => Self::Piecewise,
            // Sorting compares about as often as a logarithm has terms; it is not measured by itself.
            OpKind::ArgSort(_) => Self::Tanh,
            OpKind::OneHot(_) => Self::Elementwise,
            OpKind::Broadcast(_) => Self::Stretching,
            OpKind::Softmax(_) | OpKind::SoftmaxGradient(_) => Self::Softmax,
            OpKind::LogSoftmax(_) | OpKind::LogSoftmaxGradient(_) => Self::Softmax,
            OpKind::CrossEntropy(_) | OpKind::CrossEntropyGradient(_) | OpKind::Accuracy(_) => Self::Softmax,
            OpKind::BatchNorm(_) => Self::BatchNorm,
            OpKind::BatchNormInference(_) => Self::Elementwise,
            OpKind::BatchNormGradient(_) => Self::BatchNormGradient,
            OpKind::LayerNorm(_) | OpKind::LayerNormGradient(_) => Self::LayerNorm,
            OpKind::Reduce(_) | OpKind::ReduceMaxGradient(_) | OpKind::AllFinite(_) => Self::Reduction,
            OpKind::Pool2d(_) => Self::Pooling,
            OpKind::MaxPool2dGradient(_) | OpKind::AveragePool2dGradient(_) => Self::PoolingGradient,
            OpKind::Transpose(op) if moves_rows(&op.order) => Self::Movement,
            OpKind::Transpose(_) => Self::Transposition,
            OpKind::Concat(_) | OpKind::Slice(_) | OpKind::Pad(_) | OpKind::Fill(_) => Self::Movement,
            OpKind::Embedding(_) | OpKind::EmbeddingGradient(_) | OpKind::Constant(_) => Self::Movement,
            OpKind::TakeAlong(_) | OpKind::TakeAlongGradient(_) => Self::Transposition,
            OpKind::Upsample2d(_) | OpKind::Upsample2dGradient(_) => Self::Upsampling,
            OpKind::Resize2d(_) | OpKind::Resize2dGradient(_) | OpKind::Warp(_) => Self::Upsampling,
            // Two logarithms' worth of work an element; no model spends its time here, so it is not measured by itself.
            OpKind::RandomNormal(_) | OpKind::Bucket(_) => Self::Tanh,
            OpKind::RandomUniform(_) => Self::Dropout,
            OpKind::Dropout(_) => Self::Dropout,
            OpKind::Update(_) => Self::Update,
            OpKind::Reshape(_) => return None,
        };
        Some(class)
    }

    /// Whether its time depends on what it computes, and not only on what it moves.
    pub fn computes(self) -> bool {
        match self {
            Self::Product | Self::ThinProduct | Self::Convolution | Self::ImageGradient => true,
            Self::FilterGradient | Self::Gelu => true,
            Self::PointwiseFilterGradient | Self::Depthwise | Self::DepthwiseImageGradient => true,
            Self::DepthwiseFilterGradient | Self::Attention | Self::AttentionGradient => true,
            Self::Recurrence | Self::RecurrenceGradient | Self::Exponential | Self::Tanh => true,
            Self::Softmax | Self::Upsampling | Self::Dropout | Self::Update => true,
            Self::Elementwise | Self::Piecewise | Self::Stretching | Self::BatchNorm => false,
            Self::BatchNormGradient | Self::LayerNorm | Self::Reduction | Self::Pooling => false,
            Self::PoolingGradient | Self::Movement | Self::Transposition => false,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The class of a product, by the extents of its left factor.
fn of_product(left: &TensorType, transposed: bool) -> Class {
    let [first, last] = [left.shape.rows(), left.shape.last()];
    let (rows, sum) = if transposed { (last, first) } else { (first, last) };
    if rows.min(sum) < THIN { Class::ThinProduct } else { Class::Product }
}

/// How the filter of a convolution, or of a gradient of one, moves over its images; none for other ops.
pub(super) fn geometry(kind: &OpKind, inputs: &[TensorType]) -> Option<(Conv2d, Geometry)> {
    let side = |tensor: &TensorType, first: usize| [tensor.shape[first], tensor.shape[first + 1]];
    let (conv, size, window) = if let OpKind::Conv2d(conv) = kind {
        (*conv, side(&inputs[0], 1), side(&inputs[1], 0))
    } else if let OpKind::TransposedConv2d(op) = kind {
        (op.conv, op.size, side(&inputs[1], 0))
    } else if let OpKind::Conv2dFilterGradient(op) = kind {
        (op.conv, side(&inputs[0], 1), op.window)
    } else {
        return None;
    };
    Some((conv, conv.sliding.over(size, window).expect("the shape rule has accepted these types")))
}

/// Whether every output pixel reads just its own input pixel, so that the images are the matrix already.
fn pointwise(kind: &OpKind, inputs: &[TensorType]) -> bool {
    geometry(kind, inputs).is_some_and(|(conv, geometry)| {
        let still = geometry.window == [1, 1] && geometry.strides == [1, 1];
        still && geometry.input == geometry.output && conv.groups == 1
    })
}

/// Whether the last axis stays, so that whole rows are copied.
fn moves_rows(order: &[usize]) -> bool {
    order.last().is_none_or(|&axis| axis + 1 == order.len())
}

fn of_function(function: Unary) -> Class {
    match function {
        Unary::Relu | Unary::Relu6 | Unary::Square | Unary::Abs | Unary::Negate => Class::Elementwise,
        Unary::AddScalar(_) | Unary::MultiplyScalar(_) | Unary::MaximumScalar(_) => Class::Elementwise,
        Unary::LeakyRelu(_) | Unary::HardSigmoid | Unary::HardSwish | Unary::Huber(_) => Class::Piecewise,
        Unary::Sqrt | Unary::Rsqrt => Class::Piecewise,
        Unary::Elu(_) | Unary::Sigmoid | Unary::Swish | Unary::Exp => Class::Exponential,
        Unary::Tanh | Unary::GeluTanh | Unary::Log | Unary::Softplus | Unary::PowerScalar(_) => Class::Tanh,
        Unary::Gelu => Class::Gelu,
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Sign => Class::Elementwise,
        Unary::IsNan | Unary::IsFinite | Unary::Detach => Class::Elementwise,
        Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => Class::Tanh,
        Unary::Sinh | Unary::Cosh | Unary::Asinh | Unary::Acosh | Unary::Atanh => Class::Tanh,
        Unary::Erf | Unary::ErfInv | Unary::Log1p | Unary::Expm1 => Class::Tanh,
    }
}

/// A derivative that is computed from the result is simple even where the function is not.
fn of_derivative(function: Unary) -> Class {
    match function {
        Unary::Relu | Unary::Relu6 | Unary::Sigmoid | Unary::Tanh | Unary::Exp | Unary::Elu(_) => {
            Class::Elementwise
        }
        Unary::Square | Unary::Abs | Unary::Negate | Unary::AddScalar(_) => Class::Elementwise,
        Unary::MultiplyScalar(_) | Unary::MaximumScalar(_) | Unary::Log => Class::Elementwise,
        Unary::LeakyRelu(_) | Unary::HardSigmoid | Unary::HardSwish | Unary::Huber(_) => Class::Piecewise,
        Unary::Sqrt | Unary::Rsqrt => Class::Piecewise,
        Unary::Swish | Unary::Softplus => Class::Exponential,
        Unary::GeluTanh | Unary::PowerScalar(_) => Class::Tanh,
        Unary::Gelu => Class::Gelu,
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Sign => Class::Elementwise,
        Unary::IsNan | Unary::IsFinite | Unary::Detach => Class::Elementwise,
        Unary::Sin | Unary::Cos | Unary::Tan | Unary::Sinh | Unary::Cosh | Unary::ErfInv => Class::Tanh,
        Unary::Asin | Unary::Acos | Unary::Asinh | Unary::Acosh => Class::Piecewise,
        Unary::Atan | Unary::Atanh | Unary::Log1p => Class::Elementwise,
        Unary::Erf | Unary::Expm1 => Class::Exponential,
    }
}
