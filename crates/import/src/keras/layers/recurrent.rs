//! Recurrent layers and what wraps them.

use super::{build_object, inner};
use crate::keras::call::Call;
use crate::keras::fields::Fields;
use crate::keras::{KerasError, initializers};
use plimsoll_model::Layer;
use plimsoll_model::layer::{Bidirectional, Gru, Lstm, Recurrent, TimeDistributed};
use serde_json::json;

pub(super) fn build(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    Ok(match recurrent(fields)? {
        Recurrent::Lstm(layer) => layer.into(),
        Recurrent::Gru(layer) => layer.into(),
    })
}

fn recurrent(fields: &Fields<'_>) -> Result<Recurrent, KerasError> {
    initializers::fixed(fields, "kernel_initializer", &["glorotuniform"]);
    initializers::fixed(fields, "recurrent_initializer", &["orthogonal", "orthogonalinitializer"]);
    initializers::fixed(fields, "bias_initializer", &["zeros"]);
    fields.only("return_state", &[json!(false)])?;
    fields.only("stateful", &[json!(false)])?;
    fields.only("time_major", &[json!(false)])?;
    fields.only("activation", &[json!("tanh")])?;
    fields.only("recurrent_activation", &[json!("sigmoid")])?;
    fields.only("dropout", &[json!(0.0)])?;
    fields.only("recurrent_dropout", &[json!(0.0)])?;
    // How Keras computes it, not what.
    fields.skip(&["unroll", "implementation", "use_cudnn"]);
    // What masked positions give is read only by layers that see the mask, too.
    fields.skip(&["zero_output_for_mask"]);
    let units = fields.count("units")?;
    let use_bias = fields.flag("use_bias", true)?;
    let return_sequences = fields.flag("return_sequences", false)?;
    let go_backwards = fields.flag("go_backwards", false)?;
    match fields.class() {
        "LSTM" => {
            let unit_forget_bias = fields.flag("unit_forget_bias", true)?;
            Ok(Recurrent::Lstm(Lstm { units, use_bias, unit_forget_bias, return_sequences, go_backwards }))
        }
        "GRU" => {
            let reset_after = fields.flag("reset_after", true)?;
            Ok(Recurrent::Gru(Gru { units, use_bias, reset_after, return_sequences, go_backwards }))
        }
        _ => Err(fields.problem("it is not supported yet")),
    }
}

pub(super) fn bidirectional(fields: &Fields<'_>) -> Result<Layer, KerasError> {
    fields.only("merge_mode", &[json!("concat")])?;
    let (_, forward) = inner(fields, "layer")?;
    super::read_common(&forward)?;
    let layer = recurrent(&forward)?;
    forward.finish()?;
    if fields.get("backward_layer").is_some() {
        let (_, backward) = inner(fields, "backward_layer")?;
        super::read_common(&backward)?;
        let twin = recurrent(&backward)?;
        backward.finish()?;
        if twin != reversed(layer.clone()) {
            return Err(fields.problem("a backward layer with settings of its own is not supported"));
        }
    }
    Ok(Bidirectional { layer }.into())
}

fn reversed(layer: Recurrent) -> Recurrent {
    match layer {
        Recurrent::Lstm(lstm) => Recurrent::Lstm(Lstm { go_backwards: !lstm.go_backwards, ..lstm }),
        Recurrent::Gru(gru) => Recurrent::Gru(Gru { go_backwards: !gru.go_backwards, ..gru }),
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
