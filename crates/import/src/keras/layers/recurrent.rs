//! Recurrent layers and what wraps them.

use super::{activation, build_object, inner, read_common};
use crate::keras::call::Call;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{
    Activation, Bidirectional, Gru, Lstm, MergeMode, Recurrent, SimpleRnn, TimeDistributed,
};
use serde_json::json;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("zero_output_for_mask", &[json!(false)])?;
    Ok(match recurrent(fields)? {
        Recurrent::Lstm(layer) => layer.into(),
        Recurrent::Gru(layer) => layer.into(),
        Recurrent::SimpleRnn(layer) => layer.into(),
    })
}

fn recurrent(fields: &Fields<'_>) -> Result<Recurrent, KerasError> {
    initializers::fixed(fields, "kernel_initializer", &["glorotuniform"]);
    initializers::fixed(fields, "recurrent_initializer", &["orthogonal", "orthogonalinitializer"]);
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    fields.only("return_state", &[json!(false)])?;
    fields.only("stateful", &[json!(false)])?;
    fields.only("time_major", &[json!(false)])?;
    // How Keras computes it, not what.
    fields.skip(&["unroll", "implementation", "use_cudnn"]);
    match fields.class() {
        "LSTM" => lstm(fields).map(Recurrent::Lstm),
        "GRU" => gru(fields).map(Recurrent::Gru),
        "SimpleRNN" => simple_rnn(fields).map(Recurrent::SimpleRnn),
        other => Err(fields.problem(format!("{other} is no recurrent layer"))),
    }
}

fn lstm(fields: &Fields<'_>) -> Result<Lstm, KerasError> {
    Ok(Lstm {
        units: fields.count("units")?,
        activation: or(fields, "activation", Activation::Tanh)?,
        recurrent_activation: or(fields, "recurrent_activation", Activation::Sigmoid)?,
        use_bias: fields.flag("use_bias", true)?,
        unit_forget_bias: fields.flag("unit_forget_bias", true)?,
        dropout: fields.number("dropout", 0.0)? as f32,
        recurrent_dropout: fields.number("recurrent_dropout", 0.0)? as f32,
        return_sequences: fields.flag("return_sequences", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
    })
}

fn gru(fields: &Fields<'_>) -> Result<Gru, KerasError> {
    Ok(Gru {
        units: fields.count("units")?,
        activation: or(fields, "activation", Activation::Tanh)?,
        recurrent_activation: or(fields, "recurrent_activation", Activation::Sigmoid)?,
        use_bias: fields.flag("use_bias", true)?,
        reset_after: fields.flag("reset_after", true)?,
        dropout: fields.number("dropout", 0.0)? as f32,
        recurrent_dropout: fields.number("recurrent_dropout", 0.0)? as f32,
        return_sequences: fields.flag("return_sequences", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
    })
}

fn simple_rnn(fields: &Fields<'_>) -> Result<SimpleRnn, KerasError> {
    Ok(SimpleRnn {
        units: fields.count("units")?,
        activation: or(fields, "activation", Activation::Tanh)?,
        use_bias: fields.flag("use_bias", true)?,
        dropout: fields.number("dropout", 0.0)? as f32,
        recurrent_dropout: fields.number("recurrent_dropout", 0.0)? as f32,
        return_sequences: fields.flag("return_sequences", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
    })
}

/// An activation that is not linear where the file says nothing.
fn or(fields: &Fields<'_>, key: &str, default: Activation) -> Result<Activation, KerasError> {
    match fields.get(key) {
        Some(_) => activation::read(fields, key),
        None => Ok(default),
    }
}

pub(super) fn bidirectional(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let merge_mode = match fields.text("merge_mode", "none")? {
        "concat" => MergeMode::Concat,
        "sum" => MergeMode::Sum,
        "mul" => MergeMode::Mul,
        "ave" => MergeMode::Ave,
        other => return Err(fields.problem(format!("merge_mode={other} is not supported"))),
    };
    let layer = one_direction(fields, "layer")?;
    if fields.get("backward_layer").is_some()
        && one_direction(fields, "backward_layer")? != reversed(layer.clone())
    {
        return Err(fields.problem("a backward layer with settings of its own is not supported"));
    }
    Ok(Bidirectional { layer, merge_mode }.into())
}

fn one_direction(fields: &Fields<'_>, key: &str) -> Result<Recurrent, KerasError> {
    let (_, inside) = inner(fields, key)?;
    read_common(&inside)?;
    // Keras sets it by itself: padding gives 0 if the layer gives sequences.
    inside.skip(&["zero_output_for_mask"]);
    let layer = recurrent(&inside)?;
    inside.finish()?;
    Ok(layer)
}

fn reversed(layer: Recurrent) -> Recurrent {
    match layer {
        Recurrent::Lstm(layer) => Recurrent::Lstm(Lstm { go_backwards: !layer.go_backwards, ..layer }),
        Recurrent::Gru(layer) => Recurrent::Gru(Gru { go_backwards: !layer.go_backwards, ..layer }),
        Recurrent::SimpleRnn(layer) => {
            Recurrent::SimpleRnn(SimpleRnn { go_backwards: !layer.go_backwards, ..layer })
        }
    }
}

pub(super) fn time_distributed(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let (object, inside) = inner(fields, "layer")?;
    if object.is_model() {
        return Err(fields.problem("a model at every position is not supported"));
    }
    let call = Call { arguments: Vec::new(), named: Vec::new() };
    let layer = build_object(&object, &inside, &call)?;
    inside.finish()?;
    Ok(TimeDistributed { layer: Box::new(layer) }.into())
}
