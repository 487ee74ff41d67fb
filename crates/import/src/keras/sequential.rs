//! A sequential model: each layer reads what the one before it gives.

use super::KerasError;
use super::assembly::{Assembly, Read, Scope};
use super::call::Call;
use super::config::{History, LayerConfig, Object};
use plimsoll_model::NodeRef;

/// Adds the layers; gives the result of the last.
pub(super) fn add<'a>(
    assembly: &mut Assembly<'a>,
    object: &Object<'a>,
    scope: &Scope,
    inputs: Option<Vec<NodeRef>>,
) -> Result<Vec<NodeRef>, KerasError> {
    let layers = object.layers()?;
    let is_input = |layer: &LayerConfig<'_>| layer.object.class == "InputLayer";
    let (input, layers) = match layers.as_slice() {
        [first, rest @ ..] if is_input(first) => (Some(first), rest),
        all => (None, all),
    };
    let mut current = match inputs.as_deref() {
        Some([one]) => *one,
        Some(several) => {
            let message = format!("a sequential model takes 1 input, not {}", several.len());
            return Err(KerasError::Config(message));
        }
        None => own_input(assembly, object, scope, input, layers)?,
    };
    for (layer, file_name) in layers.iter().zip(Assembly::file_names(layers)) {
        let call = Call::of(History { layer: layer.name, call: 0, result: 0 });
        let results = assembly.add_call(layer, &file_name, scope, &call, Read::of(vec![current]))?;
        current = match results.as_slice() {
            [one] => *one,
            _ => return Err(KerasError::Config(format!("layer `{}` has several results", layer.name))),
        };
    }
    Ok(vec![current])
}

/// What Keras calls the output: the last layer.
pub(super) fn output_names(object: &Object<'_>) -> Result<Vec<String>, KerasError> {
    Ok(object.layers()?.last().map(|layer| layer.name.to_string()).into_iter().collect())
}

/// The input of an outermost model: its input layer, or the shape that the model or its first layer was built for.
fn own_input<'a>(
    assembly: &mut Assembly<'a>,
    object: &Object<'a>,
    scope: &Scope,
    input: Option<&LayerConfig<'a>>,
    layers: &[LayerConfig<'a>],
) -> Result<NodeRef, KerasError> {
    if let Some(input) = input {
        return assembly.add_input(input, None, scope);
    }
    let first = layers.first();
    let shape = object.config.get("build_input_shape").filter(|shape| !shape.is_null());
    let shape = shape.or(first.and_then(|first| first.object.config.get("batch_input_shape")));
    assembly.add_input_of(shape.ok_or(KerasError::Unbuilt)?, first.map_or("input", |first| first.name))
}
