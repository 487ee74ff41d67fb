//! Layers as calls of Keras's constructors. Arguments that are Keras's defaults are left out.

use plimsoll_graph::op::{Padding, Pool, Reduction};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Activation, GlobalPooling, Lstm, Merge, MultiHeadAttention, Recurrent};

/// The call that makes a layer of a model of images or of sequences; nothing for layers that only Keras's own
/// applications use.
pub(super) fn code(layer: &Layer, images: bool) -> Option<String> {
    Some(match layer {
        Layer::Activation(activation) => format!("Activation({:?})", name(*activation)?),
        Layer::BatchNormalization(norm) => call(
            "BatchNormalization",
            [
                different("momentum", norm.momentum, 0.99),
                different("epsilon", norm.epsilon, 1e-3),
                different("center", norm.center, true),
                different("scale", norm.scale, true),
            ],
        ),
        Layer::Bidirectional(both) => match &both.layer {
            Recurrent::Lstm(inner) => format!("Bidirectional(L.{})", lstm(inner)),
            _ => return None,
        },
        Layer::Concatenate(concat) => call("Concatenate", [different("axis", concat.axis, -1)]),
        Layer::Conv2d(conv) => call(
            "Conv2D",
            [
                Some(conv.filters.to_string()),
                Some(pair(conv.kernel_size)),
                (conv.strides != [1, 1]).then(|| format!("strides={}", pair(conv.strides))),
                padding(conv.padding)?,
                (conv.dilation_rate != [1, 1]).then(|| format!("dilation_rate={}", pair(conv.dilation_rate))),
                different("groups", conv.groups, 1),
                activation(conv.activation)?,
                different("use_bias", conv.use_bias, true),
            ],
        ),
        Layer::Conv2dTranspose(conv) if conv.output_padding.is_none() && conv.dilation_rate == [1, 1] => {
            call(
                "Conv2DTranspose",
                [
                    Some(conv.filters.to_string()),
                    Some(pair(conv.kernel_size)),
                    (conv.strides != [1, 1]).then(|| format!("strides={}", pair(conv.strides))),
                    padding(conv.padding)?,
                    activation(conv.activation)?,
                    different("use_bias", conv.use_bias, true),
                ],
            )
        }
        Layer::Dense(dense) => call(
            "Dense",
            [
                Some(dense.units.to_string()),
                activation(dense.activation)?,
                different("use_bias", dense.use_bias, true),
            ],
        ),
        Layer::Dropout(dropout) if dropout.noise_shape.is_none() => format!("Dropout({})", dropout.rate),
        Layer::Embedding(embedding) => call(
            "Embedding",
            [
                Some(embedding.input_dim.to_string()),
                Some(embedding.output_dim.to_string()),
                different("mask_zero", embedding.mask_zero, false),
            ],
        ),
        Layer::Flatten(_) => "Flatten()".to_string(),
        Layer::GlobalPooling(pooling) => global_pooling(pooling, images)?,
        Layer::LayerNormalization(norm) => call(
            "LayerNormalization",
            [
                different("epsilon", norm.epsilon, 1e-3),
                different("center", norm.center, true),
                different("scale", norm.scale, true),
            ],
        ),
        Layer::Lstm(recurrent) if !recurrent.stateful && !recurrent.zero_output_for_mask => lstm(recurrent),
        Layer::Merge(merge) => format!("{}()", merge_class(*merge)),
        Layer::MultiHeadAttention(attention) if *attention == plain_attention(attention) => call(
            "MultiHeadAttention",
            [
                Some(attention.num_heads.to_string()),
                Some(attention.key_dim.to_string()),
                attention.value_dim.map(|dim| format!("value_dim={dim}")),
                different("dropout", attention.dropout, 0.0),
                different("use_bias", attention.use_bias, true),
            ],
        ),
        Layer::Pooling2d(pooling) => call(
            pool_class(pooling.pool),
            [
                Some(pair(pooling.pool_size)),
                (pooling.strides != pooling.pool_size).then(|| format!("strides={}", pair(pooling.strides))),
                padding(pooling.padding)?,
            ],
        ),
        _ => return None,
    })
}

/// Whether Keras wants the layer's inputs as one list.
pub(super) fn takes_a_list(layer: &Layer) -> bool {
    matches!(layer, Layer::Merge(_) | Layer::Concatenate(_))
}

fn call<const N: usize>(class: &str, arguments: [Option<String>; N]) -> String {
    format!("{class}({})", arguments.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn different<T: PartialEq + PythonText>(name: &str, value: T, default: T) -> Option<String> {
    (value != default).then(|| format!("{name}={}", value.python()))
}

/// How a setting is written in Python.
trait PythonText {
    fn python(&self) -> String;
}

impl PythonText for bool {
    fn python(&self) -> String {
        if *self { "True" } else { "False" }.to_string()
    }
}

impl PythonText for f32 {
    fn python(&self) -> String {
        // Python has no literals for the others.
        if self.is_finite() { format!("{self:?}") } else { format!("float(\"{self}\")") }
    }
}

impl PythonText for usize {
    fn python(&self) -> String {
        self.to_string()
    }
}

impl PythonText for isize {
    fn python(&self) -> String {
        self.to_string()
    }
}

fn pair([rows, columns]: [usize; 2]) -> String {
    if rows == columns { rows.to_string() } else { format!("({rows}, {columns})") }
}

/// Nothing inside for Keras's default; nothing at all for what Keras cannot do.
fn padding(padding: Padding) -> Option<Option<String>> {
    match padding {
        Padding::Valid => Some(None),
        Padding::Same => Some(Some("padding=\"same\"".to_string())),
        // Keras has a layer of its own for these.
        Padding::Explicit { .. } => None,
    }
}

fn activation(activation: Activation) -> Option<Option<String>> {
    match activation {
        Activation::Linear => Some(None),
        other => Some(Some(format!("activation={:?}", name(other)?))),
    }
}

/// Keras's name of an activation without settings.
fn name(activation: Activation) -> Option<&'static str> {
    Some(match activation {
        Activation::Linear => "linear",
        Activation::Relu => "relu",
        Activation::Relu6 => "relu6",
        Activation::Sigmoid => "sigmoid",
        Activation::HardSigmoid => "hard_sigmoid",
        Activation::Tanh => "tanh",
        Activation::Swish => "silu",
        Activation::HardSwish => "hard_silu",
        Activation::Gelu => "gelu",
        Activation::Exponential => "exponential",
        Activation::Softmax => "softmax",
        Activation::LogSoftmax => "log_softmax",
        _ => return None,
    })
}

fn global_pooling(pooling: &GlobalPooling, images: bool) -> Option<String> {
    let kind = match pooling.reduction {
        Reduction::Mean => "Average",
        Reduction::Max => "Max",
        Reduction::Sum | Reduction::Product => return None,
    };
    let class = format!("Global{kind}Pooling{}D", if images { 2 } else { 1 });
    Some(call(&class, [different("keepdims", pooling.keepdims, false)]))
}

/// Attention with the settings that are written, and Keras's for the others.
fn plain_attention(attention: &MultiHeadAttention) -> MultiHeadAttention {
    let MultiHeadAttention { num_heads, key_dim, value_dim, dropout, use_bias, .. } = *attention;
    let plain = MultiHeadAttention::new(num_heads, key_dim).dropout(dropout);
    MultiHeadAttention { value_dim, use_bias, ..plain }
}

fn lstm(lstm: &Lstm) -> String {
    call(
        "LSTM",
        [
            Some(lstm.units.to_string()),
            different("use_bias", lstm.use_bias, true),
            different("unit_forget_bias", lstm.unit_forget_bias, true),
            different("return_sequences", lstm.return_sequences, false),
            different("go_backwards", lstm.go_backwards, false),
        ],
    )
}

fn merge_class(merge: Merge) -> &'static str {
    match merge {
        Merge::Add => "Add",
        Merge::Subtract => "Subtract",
        Merge::Multiply => "Multiply",
        Merge::Maximum => "Maximum",
        Merge::Minimum => "Minimum",
        Merge::Average => "Average",
    }
}

fn pool_class(pool: Pool) -> &'static str {
    match pool {
        Pool::Max => "MaxPooling2D",
        Pool::Average => "AveragePooling2D",
    }
}
