//! The table of Keras's layers: from a class and its configuration to a layer of ours.
//!
//! One small function a layer reads all fields that change the computation. What regularizes or constrains weights is
//! read with the weights; a class or a field that is not known is an error that names it.

mod activation;
mod applications;
mod attention;
mod augmentation;
mod convolution;
mod dense;
mod embedding;
mod merging;
mod normalization;
mod padding;
mod pooling;
mod preprocessing;
mod random;
mod recurrent;
mod refused;
mod reshaping;

pub(super) use applications::scale_of_sum;
pub(super) use recurrent::{beside, distributed_model};

use super::call::{Argument, Call, is_mask};
use super::config::{History, Object};
use super::fields::Fields;
use super::{KerasError, masks, operations};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Activation, ChannelsFirst, Masking};
use serde_json::{Value, json};

/// The layer of an object as one of its calls uses it.
pub(super) fn build(object: &Object<'_>, fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    if !object.module.is_empty() && !object.module.starts_with("keras") {
        return Err(unknown(fields, object));
    }
    check_arguments(fields, call)?;
    build_object(object, fields, call)
}

/// The layers that compute the results of an op. Truth values of the kinds that masks are made of go their own way.
pub(super) fn build_operation(
    object: &Object<'_>,
    fields: &Fields<'_>,
    call: &Call<'_>,
) -> Result<Vec<Layer>, KerasError> {
    let plain = matches!(object.class, "NotEqual" | "OnesLike" | "ZerosLike") || operations::is_logic(call);
    let mask = if plain { masks::build(object, fields, call)? } else { None };
    match mask {
        Some(layer) => {
            fields.skip(&["name"]);
            Ok(vec![layer])
        }
        None => operations::build_all(object, fields, call),
    }
}

/// The layer of an object, whoever calls it. Ops have channels last; where a layer has them first, they are moved.
fn build_object(object: &Object<'_>, fields: &Fields<'_>, call: &Call<'_>) -> Result<Layer, KerasError> {
    read_common(fields)?;
    let layer = build_channels_last(object, fields, call)?;
    match fields.text("data_format", "channels_last")? {
        "channels_last" => Ok(layer),
        "channels_first" => {
            let back = object.class != "Flatten";
            Ok(ChannelsFirst { layer: Box::new(layer), back }.into())
        }
        other => Err(fields.problem(format!("data_format={other} is not supported"))),
    }
}

fn build_channels_last(
    object: &Object<'_>,
    fields: &Fields<'_>,
    call: &Call<'_>,
) -> Result<Layer, KerasError> {
    match object.class {
        "Identity" | "ActivityRegularization" => Ok(Activation::Linear.into()),
        "Activation" | "ReLU" | "LeakyReLU" | "PReLU" | "ELU" | "Softmax" => activation::build(fields),
        "Dense" => dense::dense(fields),
        "EinsumDense" => dense::einsum(fields),
        "Embedding" | "ReversibleEmbedding" => embedding::build(fields, call),
        "Conv1D" | "Conv2D" | "SeparableConv1D" | "SeparableConv2D" | "DepthwiseConv1D"
        | "DepthwiseConv2D" | "Conv1DTranspose" | "Conv2DTranspose" | "Conv3D" | "Conv3DTranspose" => {
            convolution::build(fields)
        }
        "MaxPooling1D" | "AveragePooling1D" | "MaxPooling2D" | "AveragePooling2D" | "MaxPooling3D"
        | "AveragePooling3D" => pooling::window(fields),
        "GlobalMaxPooling1D"
        | "GlobalAveragePooling1D"
        | "GlobalMaxPooling2D"
        | "GlobalAveragePooling2D"
        | "GlobalMaxPooling3D"
        | "GlobalAveragePooling3D" => pooling::global(fields),
        "AdaptiveAveragePooling1D"
        | "AdaptiveAveragePooling2D"
        | "AdaptiveAveragePooling3D"
        | "AdaptiveMaxPooling1D"
        | "AdaptiveMaxPooling2D"
        | "AdaptiveMaxPooling3D" => pooling::adaptive(fields),
        "ZeroPadding1D" | "ZeroPadding2D" | "Cropping1D" | "Cropping2D" | "UpSampling1D" | "UpSampling2D"
        | "ZeroPadding3D" | "Cropping3D" | "UpSampling3D" | "Resizing" | "CenterCrop" => {
            padding::build(fields)
        }
        "CategoryEncoding" | "Discretization" | "Hashing" | "IntegerLookup" => preprocessing::build(fields),
        "BatchNormalization" | "LayerNormalization" | "RMSNormalization" | "GroupNormalization"
        | "UnitNormalization" | "Normalization" | "Rescaling" => normalization::build(fields),
        "Dropout" | "SpatialDropout1D" | "SpatialDropout2D" | "SpatialDropout3D" | "AlphaDropout"
        | "GaussianNoise" | "GaussianDropout" => random::build(fields),
        "Flatten" | "Reshape" | "Permute" | "RepeatVector" => reshaping::build(fields),
        "Add" | "Subtract" | "Multiply" | "Average" | "Maximum" | "Minimum" | "Concatenate" | "Dot" => {
            merging::build(fields)
        }
        "SimpleRNN" | "LSTM" | "GRU" => recurrent::build(fields),
        "RNN" => recurrent::of_cells(fields),
        "ConvLSTM1D" | "ConvLSTM2D" | "ConvLSTM3D" => recurrent::convolutional(fields),
        "Bidirectional" => recurrent::bidirectional(fields),
        "TimeDistributed" => recurrent::time_distributed(fields),
        "Masking" => Ok(Masking { mask_value: fields.number("mask_value", 0.0)? as f32 }.into()),
        "MultiHeadAttention" | "GroupQueryAttention" => attention::of_heads(fields, call),
        "Attention" | "AdditiveAttention" => attention::of_one_head(fields, call),
        "LayerScale" | "StochasticDepth" => applications::build(fields),
        class if augmentation::is_one(class) => augmentation::build(fields),
        _ => Err(unknown(fields, object)),
    }
}

/// What a call reads, in the order in which our layer takes it.
pub(super) fn reads<'a>(object: &Object<'a>, call: &Call<'a>) -> Vec<History<'a>> {
    match object.class {
        "MultiHeadAttention" | "GroupQueryAttention" => attention::reads(call),
        _ => call.tensors(),
    }
}

/// Whether training changes a layer, as Keras has it after loading: the layers inside a wrapper speak for themselves,
/// and those inside of attention are made anew and know of nothing.
pub(super) fn is_trainable(object: &Object<'_>) -> bool {
    let flag = match object.class {
        "MultiHeadAttention" | "GroupQueryAttention" => None,
        "TimeDistributed" | "Bidirectional" => {
            object.config.get("layer").and_then(|layer| layer.pointer("/config/trainable"))
        }
        _ => object.config.get("trainable"),
    };
    flag != Some(&Value::Bool(false))
}

/// Whether an object is an op on tensors rather than a layer: it has no weights and no place in files.
pub(super) fn is_operation(object: &Object<'_>) -> bool {
    // Legacy files do not say where a class is from; there, what all layers have is missing from ops.
    let bare = ["trainable", "dtype"].iter().all(|key| !object.config.contains_key(*key));
    object.module.starts_with("keras.src.ops")
        || object.module.starts_with("keras.ops")
        || (object.module.is_empty() && bare && operations::is_known(object.class))
}

/// The layer inside a wrapper, with the fields it is read from.
fn inner<'a>(fields: &Fields<'a>, key: &str) -> Result<(Object<'a>, Fields<'a>), KerasError> {
    let missing = || fields.problem(format!("`{key}` is missing"));
    let object = Object::read(fields.get(key).ok_or_else(missing)?)?;
    let inside = fields.inside(object.config, object.class);
    Ok((object, inside))
}

/// What all layers have.
fn read_common(fields: &Fields<'_>) -> Result<(), KerasError> {
    // `batch_input_shape` and its kin stand in the first layer of models of Keras 2.
    fields.skip(&["name", "trainable", "batch_input_shape", "batch_shape", "seed", "shared_object_id"]);
    fields.only("quantization_config", &[])?;
    read_policy(fields)?;
    // They are read with the weights and results they are about.
    fields.skip(&["activity_regularizer"]);
    for name in
        ["kernel", "bias", "recurrent", "depthwise", "pointwise", "embeddings", "beta", "gamma", "alpha"]
    {
        fields.skip(&[&format!("{name}_regularizer"), &format!("{name}_constraint")]);
    }
    Ok(())
}

/// Variables and results are float32; policies that compute in less keep their variables in float32, too.
fn read_policy(fields: &Fields<'_>) -> Result<(), KerasError> {
    let Some(policy) = fields.get("dtype") else { return Ok(()) };
    let name = policy.as_str().or(policy.pointer("/config/name").and_then(Value::as_str));
    match name {
        Some("float32") => Ok(()),
        Some("int32" | "int64") if gives_integers(fields.class()) => Ok(()),
        Some(mixed @ ("mixed_float16" | "mixed_bfloat16")) => {
            fields.note(format!("its policy is {mixed}; here it computes in float32"));
            Ok(())
        }
        _ => Err(fields.problem_with_hint(
            format!("dtype={} is not supported", name.unwrap_or("?")),
            Some("the policies are float32, mixed_float16 and mixed_bfloat16"),
        )),
    }
}

/// Layers whose policy says of which type their integers are.
fn gives_integers(class: &str) -> bool {
    matches!(class, "Hashing" | "IntegerLookup" | "Discretization" | "CategoryEncoding")
}

/// Arguments of a call by name, except for what changes nothing or is looked at elsewhere.
fn check_arguments(fields: &Fields<'_>, call: &Call<'_>) -> Result<(), KerasError> {
    for (name, argument) in &call.named {
        let constant = match argument {
            Argument::Constant(value) => Some(*value),
            _ => None,
        };
        let nothing = constant.is_some_and(|value| value.is_null() || *value == json!(false));
        // In `fit` and `predict`, what the model is called with takes the place of `training`.
        let known = nothing || *name == "training" || is_mask(name);
        let inputs = matches!(*name, "inputs" | "sequence") && constant.is_none();
        let states = *name == "initial_state" && constant.is_none() && recurs(fields.class());
        let counts = *name == "count_weights" && fields.class() == "CategoryEncoding" && constant.is_none();
        let own =
            [attention::takes, embedding::takes].iter().any(|takes| takes(fields.class(), name, constant));
        if !(known || inputs || states || counts || own) {
            return Err(fields.problem(format!("it is called with `{name}`, which is not supported")));
        }
    }
    Ok(())
}

/// Whether a layer may be given the states that it begins with.
fn recurs(class: &str) -> bool {
    matches!(
        class,
        "SimpleRNN" | "LSTM" | "GRU" | "RNN" | "Bidirectional" | "ConvLSTM1D" | "ConvLSTM2D" | "ConvLSTM3D"
    )
}

fn unknown(fields: &Fields<'_>, object: &Object<'_>) -> KerasError {
    if let Some((reason, hint)) = refused::reason(object.class)
        && (object.module.is_empty() || object.module.starts_with("keras"))
    {
        return fields.problem_with_hint(format!("it is not supported: {reason}"), Some(hint));
    }
    let keras_s = object.module.starts_with("keras");
    let (problem, hint) = match object.class {
        "Lambda" => (
            "it holds Python code, which is not run".to_string(),
            "write it with keras.ops or a layer of keras.layers: what Lambda(lambda x: 2 * x) does is 2 * x",
        ),
        class if keras_s => (
            format!("Keras's layer {class} is not supported"),
            "docs/keras-coverage.md lists the layers that are; `plimsoll inspect` shows which of the model's are not",
        ),
        class => (
            format!("{class} is a layer of somebody's own: the file does not say what it computes"),
            "a custom layer can be rewritten with layers of keras.layers, or cut out of the model before it is saved",
        ),
    };
    fields.problem_with_hint(problem, Some(hint))
}
