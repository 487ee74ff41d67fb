//! Recurrent layers and what wraps them.

use super::convolution::padding;
use super::{activation, build_object, inner, read_common};
use crate::keras::call::Call;
use crate::keras::config::Object;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{
    Activation, Bidirectional, ConvLstm, Gru, Lstm, MergeMode, Recurrent, SimpleRnn, StackedRnn,
    TimeDistributed,
};
use serde_json::{Value, json};

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    Ok(recurrent(fields)?.into_layer())
}

/// Keras's `RNN`: a cell is the layer of the same kind, several on top of each other go step by step.
pub(super) fn of_cells(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let (object, inside) = inner(fields, "cell")?;
    if object.class != "StackedRNNCells" {
        return Ok(of_cell(fields, &object, &inside)?.into_layer());
    }
    read_common(&inside)?;
    let cells = inside.get("cells").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    inside.finish()?;
    fields.only("return_state", &[json!(false)])?;
    let mut stacked = Vec::with_capacity(cells.len());
    for cell in cells {
        let object = Object::read(cell)?;
        let inside = fields.inside(object.config, object.class);
        let cell = of_cell(fields, &object, &inside)?;
        let dropped = ["dropout", "recurrent_dropout"].map(|key| inside.number(key, 0.0));
        if dropped.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().any(|rate| rate != 0.0) {
            return Err(fields.problem("dropout in cells on top of each other is not supported"));
        }
        stacked.push(cell);
    }
    let return_sequences = fields.flag("return_sequences", false)?;
    let go_backwards = fields.flag("go_backwards", false)?;
    let (stateful, zero_output_for_mask) = (is_stateful(fields)?, is_zero_at_padding(fields)?);
    Ok(StackedRnn { cells: stacked, return_sequences, go_backwards, stateful, zero_output_for_mask }.into())
}

/// The layer of one cell, as the layer around it wants it.
fn of_cell(fields: &Fields<'_>, object: &Object<'_>, inside: &Fields<'_>) -> Result<Recurrent, KerasError> {
    read_common(inside)?;
    loop_settings(fields)?;
    let cell = match object.class {
        "LSTMCell" => lstm(inside, fields).map(Recurrent::Lstm),
        "GRUCell" => gru(inside, fields).map(Recurrent::Gru),
        "SimpleRNNCell" => simple_rnn(inside, fields).map(Recurrent::SimpleRnn),
        other => Err(fields.problem_with_hint(
            format!("there is no cell {other} here"),
            Some("the cells are LSTMCell, GRUCell, SimpleRNNCell and StackedRNNCells of them"),
        )),
    }?;
    inside.finish()?;
    Ok(cell)
}

fn recurrent(fields: &Fields<'_>) -> Result<Recurrent, KerasError> {
    if fields.class() == "RNN" {
        let (object, inside) = inner(fields, "cell")?;
        return of_cell(fields, &object, &inside);
    }
    loop_settings(fields)?;
    match fields.class() {
        "LSTM" => lstm(fields, fields).map(Recurrent::Lstm),
        "GRU" => gru(fields, fields).map(Recurrent::Gru),
        "SimpleRNN" => simple_rnn(fields, fields).map(Recurrent::SimpleRnn),
        other => Err(fields.problem(format!("{other} is no recurrent layer"))),
    }
}

/// What all recurrent layers have beside their cell.
fn loop_settings(fields: &Fields<'_>) -> Result<(), KerasError> {
    if is_stateful(fields)? {
        return Err(fields.problem_with_hint(
            "stateful=True is not supported: its state would go on from batch to batch",
            Some("save it with stateful=False, and every batch begins with zeros, or give it initial_state"),
        ));
    }
    fields.only("time_major", &[json!(false)])?;
    // How Keras computes it, not what.
    fields.skip(&["unroll", "implementation", "use_cudnn"]);
    Ok(())
}

fn is_stateful(fields: &Fields<'_>) -> Result<bool, KerasError> {
    fields.flag("stateful", false)
}

fn is_zero_at_padding(fields: &Fields<'_>) -> Result<bool, KerasError> {
    fields.flag("zero_output_for_mask", false)
}

fn starts(cell: &Fields<'_>) {
    initializers::fixed(cell, "kernel_initializer", &["glorotuniform"]);
    initializers::fixed(cell, "recurrent_initializer", &["orthogonal", "orthogonalinitializer"]);
    initializers::fixed(cell, "bias_initializer", &["zeros"]);
    cell.skip(&["implementation"]);
}

fn lstm(cell: &Fields<'_>, fields: &Fields<'_>) -> Result<Lstm, KerasError> {
    starts(cell);
    Ok(Lstm {
        units: cell.count("units")?,
        activation: or(cell, "activation", Activation::Tanh)?,
        recurrent_activation: or(cell, "recurrent_activation", Activation::Sigmoid)?,
        use_bias: cell.flag("use_bias", true)?,
        unit_forget_bias: cell.flag("unit_forget_bias", true)?,
        dropout: cell.number("dropout", 0.0)? as f32,
        recurrent_dropout: cell.number("recurrent_dropout", 0.0)? as f32,
        return_sequences: fields.flag("return_sequences", false)?,
        return_state: fields.flag("return_state", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
        stateful: is_stateful(fields)?,
        zero_output_for_mask: is_zero_at_padding(fields)?,
    })
}

fn gru(cell: &Fields<'_>, fields: &Fields<'_>) -> Result<Gru, KerasError> {
    starts(cell);
    Ok(Gru {
        units: cell.count("units")?,
        activation: or(cell, "activation", Activation::Tanh)?,
        recurrent_activation: or(cell, "recurrent_activation", Activation::Sigmoid)?,
        use_bias: cell.flag("use_bias", true)?,
        reset_after: cell.flag("reset_after", true)?,
        dropout: cell.number("dropout", 0.0)? as f32,
        recurrent_dropout: cell.number("recurrent_dropout", 0.0)? as f32,
        return_sequences: fields.flag("return_sequences", false)?,
        return_state: fields.flag("return_state", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
        stateful: is_stateful(fields)?,
        zero_output_for_mask: is_zero_at_padding(fields)?,
    })
}

fn simple_rnn(cell: &Fields<'_>, fields: &Fields<'_>) -> Result<SimpleRnn, KerasError> {
    starts(cell);
    Ok(SimpleRnn {
        units: cell.count("units")?,
        activation: or(cell, "activation", Activation::Tanh)?,
        use_bias: cell.flag("use_bias", true)?,
        dropout: cell.number("dropout", 0.0)? as f32,
        recurrent_dropout: cell.number("recurrent_dropout", 0.0)? as f32,
        return_sequences: fields.flag("return_sequences", false)?,
        return_state: fields.flag("return_state", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
        stateful: is_stateful(fields)?,
        zero_output_for_mask: is_zero_at_padding(fields)?,
    })
}

pub(super) fn convolutional(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    loop_settings(fields)?;
    starts(fields);
    for key in ["dropout", "recurrent_dropout"] {
        fields.only(key, &[json!(0.0)])?;
    }
    let axes = match fields.class() {
        "ConvLSTM1D" => 1,
        "ConvLSTM2D" => 2,
        _ => 3,
    };
    let counts = |key: &str| -> Result<Vec<usize>, KerasError> {
        let list = fields.integers(key)?.unwrap_or(vec![1]);
        let list = if list.len() == 1 { vec![list[0]; axes] } else { list };
        let counts = list.iter().map(|&count| usize::try_from(count).ok()).collect::<Option<Vec<_>>>();
        let wrong = || fields.problem(format!("{key} is not {axes} counts"));
        counts.filter(|counts| counts.len() == axes).ok_or_else(wrong)
    };
    let layer = ConvLstm {
        filters: fields.count("filters")?,
        kernel_size: counts("kernel_size")?,
        strides: counts("strides")?,
        padding: padding(fields)?,
        dilation_rate: counts("dilation_rate")?,
        activation: or(fields, "activation", Activation::Tanh)?,
        recurrent_activation: or(fields, "recurrent_activation", Activation::Sigmoid)?,
        use_bias: fields.flag("use_bias", true)?,
        unit_forget_bias: fields.flag("unit_forget_bias", true)?,
        return_sequences: fields.flag("return_sequences", false)?,
        return_state: fields.flag("return_state", false)?,
        go_backwards: fields.flag("go_backwards", false)?,
        stateful: is_stateful(fields)?,
        zero_output_for_mask: is_zero_at_padding(fields)?,
    };
    match fields.text("data_format", "channels_last")? {
        "channels_last" => Ok(layer.into()),
        other => Err(fields.problem(format!("data_format={other} is not supported"))),
    }
}

/// How many values a layer gives beside its result.
pub(in crate::keras) fn beside(layer: &Layer) -> usize {
    let states = |layer: &Recurrent| if layer.returns_state() { layer.state_count() } else { 0 };
    match layer {
        Layer::Lstm(layer) => states(&Recurrent::Lstm(layer.clone())),
        Layer::Gru(layer) => states(&Recurrent::Gru(layer.clone())),
        Layer::SimpleRnn(layer) => states(&Recurrent::SimpleRnn(layer.clone())),
        Layer::ConvLstm(layer) => 2 * usize::from(layer.return_state),
        Layer::Bidirectional(layer) => {
            let back = layer.backward.as_ref().unwrap_or(&layer.layer);
            let other = usize::from(layer.merge_mode == MergeMode::Separate);
            other + states(&layer.layer) + states(back)
        }
        Layer::Attention(layer) => usize::from(layer.return_attention_scores),
        Layer::MultiHeadAttention(layer) => usize::from(layer.return_attention_scores),
        _ => 0,
    }
}

/// An activation that is not linear where the file says nothing.
fn or(fields: &Fields<'_>, key: &str, default: Activation) -> Result<Activation, KerasError> {
    match fields.get(key) {
        Some(_) => activation::read(fields, key),
        None => Ok(default),
    }
}

pub(super) fn bidirectional(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let merge_mode = match fields.text("merge_mode", "")? {
        "" => MergeMode::Separate,
        "concat" => MergeMode::Concat,
        "sum" => MergeMode::Sum,
        "mul" => MergeMode::Mul,
        "ave" => MergeMode::Ave,
        other => return Err(fields.problem(format!("merge_mode={other} is not supported"))),
    };
    let layer = one_direction(fields, "layer")?;
    let backward = match fields.get("backward_layer") {
        Some(_) => Some(one_direction(fields, "backward_layer")?),
        None => None,
    };
    let backward = backward.filter(|backward| *backward != reversed(layer.clone()));
    let trained = |key: &str| fields.get(key).and_then(|layer| layer.pointer("/config/trainable")).cloned();
    if fields.get("backward_layer").is_some() && trained("layer") != trained("backward_layer") {
        return Err(fields.problem("training one direction alone is not supported"));
    }
    Ok(Bidirectional { layer, backward, merge_mode }.into())
}

fn one_direction(fields: &Fields<'_>, key: &str) -> Result<Recurrent, KerasError> {
    let (_, inside) = inner(fields, key)?;
    read_common(&inside)?;
    let layer = recurrent(&inside)?;
    inside.finish()?;
    // Whatever is said: Keras sets it by itself, so that padding gives 0 if the layer gives sequences.
    Ok(match layer {
        Recurrent::Lstm(layer) => Recurrent::Lstm(Lstm { zero_output_for_mask: false, ..layer }),
        Recurrent::Gru(layer) => Recurrent::Gru(Gru { zero_output_for_mask: false, ..layer }),
        Recurrent::SimpleRnn(layer) => {
            Recurrent::SimpleRnn(SimpleRnn { zero_output_for_mask: false, ..layer })
        }
    })
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

/// The model that stands at every position, if it is one.
pub(in crate::keras) fn distributed_model<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    let inner = object.config.get("layer").filter(|_| object.class == "TimeDistributed")?;
    Object::read(inner).ok().filter(Object::is_model)
}

pub(super) fn time_distributed(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    let (object, inside) = inner(fields, "layer")?;
    let call = Call { arguments: Vec::new(), named: Vec::new(), raw: &[] };
    let layer = build_object(&object, &inside, &call)?;
    inside.finish()?;
    if beside(&layer) > 0 {
        return Err(fields.problem("a layer with several results at every position is not supported"));
    }
    Ok(TimeDistributed { layer: Box::new(layer) }.into())
}
