//! A functional model: layers called on results of other layers.
//!
//! Method: from the outputs backwards, depth first, arguments in order. That gives every layer after those it reads,
//! leaves out what nothing needs, and is the order in which most models are
//! written.

use super::assembly::{Assembly, Read, Scope};
use super::call::{Argument, Call};
use super::config::{History, LayerConfig, Object};
use super::{KerasError, layers, masks};
use plimsoll_model::NodeRef;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Adds the layers that the outputs need; gives the outputs.
pub(super) fn add<'a>(
    assembly: &mut Assembly<'a>,
    object: &Object<'a>,
    scope: &Scope,
    inputs: Option<Vec<NodeRef>>,
) -> Result<Vec<NodeRef>, KerasError> {
    let network = Network::read(object)?;
    let mut results = network.inputs(assembly, object, scope, inputs)?;
    let outputs = History::read_all(object.config.get("output_layers"))?;
    let outputs: Vec<History<'_>> = outputs.into_iter().map(|output| network.output(output)).collect();
    for output in &outputs {
        network.visit(assembly, scope, network.find(output)?, &mut results)?;
    }
    outputs.iter().map(|output| network.result(output, &results)).collect()
}

/// What Keras calls the outputs: the keys they are given under, or the layers they come from.
pub(super) fn output_names(object: &Object<'_>) -> Result<Vec<String>, KerasError> {
    let outputs = History::read_keyed(object.config.get("output_layers"))?;
    Ok(outputs.into_iter().map(|(key, output)| key.unwrap_or(output.layer).to_string()).collect())
}

/// One call of one layer.
type Key = (usize, usize);
/// The results of each call.
type Results = HashMap<Key, Vec<NodeRef>>;

/// The layers of a model and their calls.
struct Network<'a> {
    layers: Vec<LayerConfig<'a>>,
    file_names: Vec<String>,
    calls: Vec<Vec<Call<'a>>>,
    index: HashMap<&'a str, usize>,
    /// Whether the calls are written as Keras 2 writes them.
    legacy: bool,
}

impl<'a> Network<'a> {
    fn read(object: &Object<'a>) -> Result<Self, KerasError> {
        let layers = object.layers()?;
        let file_names = Assembly::file_names(&layers);
        let mut index = HashMap::new();
        let mut calls = Vec::with_capacity(layers.len());
        for (position, layer) in layers.iter().enumerate() {
            if index.insert(layer.name, position).is_some() {
                return Err(KerasError::Config(format!("two layers are called `{}`", layer.name)));
            }
            calls.push(layer.inbound.iter().map(Call::read).collect::<Result<Vec<_>, _>>()?);
        }
        let legacy = layers.iter().any(|layer| layer.inbound.iter().any(Value::is_array));
        let mut network = Self { layers, file_names, calls, index, legacy };
        if legacy {
            network.count_from_zero();
        }
        Ok(network)
    }

    /// Keras 2 counts the calls of a model from 1 wherever it names them: the making of the model is its first.
    fn count_from_zero(&mut self) {
        let is_model = |layer: &str| {
            self.index.get(layer).is_some_and(|&position| self.layers[position].object.is_model())
        };
        for argument in self.calls.iter_mut().flatten().flat_map(|call| &mut call.arguments) {
            if let Argument::Tensor(history) = argument
                && is_model(history.layer)
            {
                history.call = history.call.saturating_sub(1);
            }
        }
    }

    /// Where an output comes from. The calls of a functional model are counted from 1 there: Keras 3 counts its making,
    /// too.
    fn output(&self, output: History<'a>) -> History<'a> {
        let layer = self.index.get(output.layer).map(|&position| &self.layers[position].object);
        let counted =
            layer.is_some_and(|object| object.is_model() && (self.legacy || object.class != "Sequential"));
        History { call: output.call.saturating_sub(usize::from(counted)), ..output }
    }

    /// The inputs, which are known from the start.
    fn inputs(
        &self,
        assembly: &mut Assembly<'a>,
        object: &Object<'a>,
        scope: &Scope,
        given: Option<Vec<NodeRef>>,
    ) -> Result<Results, KerasError> {
        let inputs = History::read_keyed(object.config.get("input_layers"))?;
        if let Some(given) = given.as_ref().filter(|given| given.len() != inputs.len()) {
            let message = format!("a model of {} inputs is called with {}", inputs.len(), given.len());
            return Err(KerasError::Config(message));
        }
        let mut results = Results::new();
        for (position, (name, input)) in inputs.iter().enumerate() {
            let key = (self.position(input.layer)?, input.call);
            let node = match &given {
                Some(given) => given[position],
                None => assembly.add_input(&self.layers[key.0], *name, scope)?,
            };
            results.insert(key, vec![node]);
        }
        Ok(results)
    }

    /// Adds a call after everything it reads.
    fn visit(
        &self,
        assembly: &mut Assembly<'a>,
        scope: &Scope,
        wanted: Key,
        results: &mut Results,
    ) -> Result<(), KerasError> {
        // Each with how many of its arguments have been looked at.
        let mut stack: Vec<(Key, Vec<Key>, usize)> = Vec::new();
        let mut open: HashSet<Key> = HashSet::new();
        if !results.contains_key(&wanted) {
            open.insert(wanted);
            stack.push((wanted, self.reads(scope, wanted)?, 0));
        }
        while let Some((key, reads, looked_at)) = stack.last_mut() {
            let key = *key;
            let Some(&next) = reads.get(*looked_at) else {
                let added = self.add_one(assembly, scope, key, results)?;
                results.insert(key, added);
                open.remove(&key);
                stack.pop();
                continue;
            };
            *looked_at += 1;
            if results.contains_key(&next) {
                continue;
            }
            if !open.insert(next) {
                return Err(self.problem(scope, next, "it reads its own result"));
            }
            stack.push((next, self.reads(scope, next)?, 0));
        }
        Ok(())
    }

    fn add_one(
        &self,
        assembly: &mut Assembly<'a>,
        scope: &Scope,
        (layer, call): Key,
        results: &Results,
    ) -> Result<Vec<NodeRef>, KerasError> {
        let (config, call) = (&self.layers[layer], &self.calls[layer][call]);
        let read = self.by_name(scope, layer, call)?.unwrap_or_else(|| layers::reads(&config.object, call));
        let read = read.iter().map(|history| self.result(history, results)).collect::<Result<_, _>>()?;
        let masks = masks::said(&config.object, call).into_iter();
        let masks = masks.map(|mask| mask.map(|mask| self.result(&mask, results)).transpose());
        let read = Read { values: read, masks: masks.collect::<Result<_, _>>()? };
        assembly.add_call(config, &self.file_names[layer], scope, call, read)
    }

    /// What a model is called with, in the order of its inputs, where it takes a list and is given a dictionary: Keras
    /// goes by the names of the inputs then.
    fn by_name(
        &self,
        scope: &Scope,
        layer: usize,
        call: &Call<'a>,
    ) -> Result<Option<Vec<History<'a>>>, KerasError> {
        let object = &self.layers[layer].object;
        let [Argument::Keyed(given)] = &call.arguments[..] else { return Ok(None) };
        if !object.is_model() {
            return Err(self.problem(scope, (layer, 0), "a dictionary as an argument is not supported"));
        }
        let missing =
            || self.problem(scope, (layer, 0), "its inputs have other names than what it is called with");
        let inputs = History::read_keyed(object.config.get("input_layers"))?;
        let found = |(key, input): &(Option<&str>, History<'_>)| {
            let name = key.unwrap_or(input.layer);
            given.iter().find(|(key, _)| *key == name).and_then(|(_, argument)| match argument {
                Argument::Tensor(history) => Some(history.clone()),
                _ => None,
            })
        };
        inputs.iter().map(found).collect::<Option<Vec<_>>>().map(Some).ok_or_else(missing)
    }

    /// The calls whose results a call reads.
    fn reads(&self, scope: &Scope, key: Key) -> Result<Vec<Key>, KerasError> {
        let call = self.calls[key.0].get(key.1);
        let unread = || self.problem(scope, key, "it is read as an input, but is none of the model's");
        let call = call.ok_or_else(unread)?;
        let masks = masks::said(&self.layers[key.0].object, call).into_iter().flatten();
        call.tensors().into_iter().chain(masks).map(|history| self.find(&history)).collect()
    }

    fn find(&self, history: &History<'_>) -> Result<Key, KerasError> {
        Ok((self.position(history.layer)?, history.call))
    }

    fn position(&self, layer: &str) -> Result<usize, KerasError> {
        let missing = || KerasError::Config(format!("layer `{layer}` is read, but does not exist"));
        self.index.get(layer).copied().ok_or_else(missing)
    }

    fn result(&self, history: &History<'_>, results: &Results) -> Result<NodeRef, KerasError> {
        let found = results.get(&self.find(history)?).and_then(|all| all.get(history.result));
        let missing =
            || KerasError::Config(format!("layer `{}` has no result {}", history.layer, history.result));
        found.copied().ok_or_else(missing)
    }

    fn problem(&self, scope: &Scope, (layer, _): Key, problem: &str) -> KerasError {
        let layer = &self.layers[layer];
        KerasError::Layer {
            path: scope.name_of(layer.name),
            class: layer.object.class.to_string(),
            problem: problem.to_string(),
            hint: None,
        }
    }
}
