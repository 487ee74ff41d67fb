//! From a model to a graph at a batch size.

use crate::layer::{Context, Kept, Layer, Signal, is_state, with_mask};
use crate::run_order::Masked;
use crate::{InputSpec, Model, Node, NodeRef};
use plimsoll_graph::samples::{self, Mixing};
use plimsoll_graph::{Beside, ElementType, Graph, Role, Shape, ShapeError, TensorType, ValueId};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What the graph is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Dropout drops, and batch normalization uses and remembers the statistics of the batch.
    Training,
    /// The model as a function of its input alone.
    Inference,
}

/// Why a model has no graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A batch without samples.
    #[error("a batch must have at least one sample")]
    EmptyBatch,
    /// An input no device can hold.
    #[error("input `{input}`: {error}")]
    Input {
        /// The input's name.
        input: String,
        /// What is wrong.
        error: ShapeError,
    },
    /// A layer that does not take what it is given.
    #[error("layer `{layer}` ({kind}): {error}")]
    Layer {
        /// The layer's name.
        layer: String,
        /// What it is.
        kind: &'static str,
        /// What is wrong, with the shapes.
        error: ShapeError,
    },
    /// Something that cannot be added to the loss.
    #[error(transparent)]
    Penalty(ShapeError),
    /// A layer that reads something that is not there yet.
    #[error("layer `{layer}` reads {reference:?}, which does not stand before it")]
    Reference {
        /// The layer's name.
        layer: String,
        /// What it reads.
        reference: NodeRef,
    },
    /// Two inputs of the same name, or two layers that are not the same layer.
    #[error("two different layers or inputs are called `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
    /// An output that is one number for all samples.
    #[error("output `{output}` is one number for the whole batch; it needs an axis for the samples")]
    NoBatch {
        /// The output's name.
        output: String,
    },
    /// A model that predicts nothing, or something that does not exist.
    #[error("the model has no such output")]
    NoOutput,
}

impl Model {
    /// The graph of this model for batches of the given size: the model's inputs, an input that counts steps if
    /// something in it depends on the step (dropout does, in training), and the predictions as outputs.
    pub fn lower(&self, batch: usize, mode: Mode) -> Result<Graph, ModelError> {
        self.check_names()?;
        let mut graph = Graph::new(self.name.clone());
        let inputs = self
            .inputs
            .iter()
            .map(|input| add_input(&mut graph, input, batch))
            .collect::<Result<Vec<_>, _>>()?;
        let mut results: Vec<Signal> = Vec::with_capacity(self.nodes.len());
        let mut logits: Vec<Option<ValueId>> = Vec::with_capacity(self.nodes.len());
        let mut kept = Kept::new(self);
        let masked = Masked::new(self, mode);
        for (position, node) in self.nodes.iter().enumerate() {
            let (signals, own) = read(node, position, &inputs, &results, &masked)?;
            let layer = graph.add_layer(kept.call(&node.name));
            let mut context = Context::new(&mut graph, mode, node, layer, position as u64, &mut kept);
            let lowered = as_numbers(&node.layer, &mut context, signals.clone())
                .and_then(|signals| node.layer.lower(&mut context, &signals));
            let lowered = lowered.and_then(|made| with_mask(&node.layer, &mut context, &signals, own, made));
            let result = lowered.map_err(|error| ModelError::Layer {
                layer: node.name.clone(),
                kind: node.layer.kind(),
                error,
            })?;
            logits.push(logits_behind(node, &signals, result.value, &kept, &logits));
            results.push(result);
        }
        for penalty in &self.penalties {
            penalty.add(&mut graph, &results, batch).map_err(ModelError::Penalty)?;
        }
        for output in &self.outputs {
            let signal = resolve(output.from, &inputs, &results).ok_or(ModelError::NoOutput)?;
            let logits = match output.from {
                NodeRef::Input(_) => None,
                NodeRef::Node(position) => logits[position],
            };
            if graph.tensor(signal.value).shape.rank() == 0 {
                return Err(ModelError::NoBatch { output: output.name.clone() });
            }
            let mask = signal.mask.filter(|_| masked.is_masked(output.from));
            graph.add_output_beside(signal.value, Beside { logits, mask });
        }
        match self.outputs.is_empty() {
            true => Err(ModelError::NoOutput),
            false => Ok(graph),
        }
    }

    /// What lets the samples of a batch see each other in training; nothing if a batch in parts trains as a whole one
    /// does (but for the numbers that dropout and noise draw).
    pub fn mixing(&self) -> Result<Option<Mixing>, ModelError> {
        let [few, more] = [self.lower(2, Mode::Training)?, self.lower(3, Mode::Training)?];
        Ok(samples::mixing(&few, &more))
    }

    /// Whether a batch begins with what the one before it has left in a layer, so that all have the same size.
    pub fn is_stateful(&self) -> bool {
        self.nodes.iter().any(|node| node.layer.is_stateful())
    }

    /// What a node learns and remembers, in the order of Keras's `layer.weights` within each of the layer's parts: the
    /// order of `vars/0`, `vars/1`, ... in a weights file. The graph must be this model's; only the first of several
    /// nodes that share a layer has any.
    pub fn weights(graph: &Graph, node: usize) -> Vec<ValueId> {
        // Lowering adds one layer a node, in their order.
        let own = |&id: &ValueId| graph.value(id).layer.is_some_and(|layer| layer.0 as usize == node);
        let kept = |&id: &ValueId| matches!(graph.value(id).role, Role::Parameter | Role::Statistic);
        let weight = |id: &ValueId| !is_state(&graph.value(*id).name);
        graph.persistents().filter(own).filter(kept).filter(weight).collect()
    }

    /// Inputs have names of their own; a name that several nodes have stands for one layer.
    fn check_names(&self) -> Result<(), ModelError> {
        let mut inputs = HashSet::new();
        let twice = self.inputs.iter().find(|input| !inputs.insert(&input.name)).map(|input| &input.name);
        let mut layers: HashMap<&str, &Node> = HashMap::new();
        let differs = |node: &Node, other: &Node| {
            (node.layer.of_any_call(), node.trainable) != (other.layer.of_any_call(), other.trainable)
        };
        let mut nodes = self.nodes.iter();
        let other =
            nodes.find(|&node| layers.insert(&node.name, node).is_some_and(|other| differs(node, other)));
        match twice.or(other.map(|node| &node.name)) {
            Some(name) => Err(ModelError::SameName { name: name.clone() }),
            None => Ok(()),
        }
    }
}

fn add_input(graph: &mut Graph, input: &InputSpec, batch: usize) -> Result<Signal, ModelError> {
    if batch == 0 {
        return Err(ModelError::EmptyBatch);
    }
    let shape = Shape::new([&[batch], input.shape.extents()].concat());
    let added = graph.add_input(input.name.clone(), TensorType::new(input.element, shape));
    let value = added.map_err(|error| ModelError::Input { input: input.name.clone(), error })?;
    Ok(Signal { value, mask: None })
}

/// What a node reads, with the masks that it is called with, and the mask that its first input brings along by itself.
fn read(
    node: &Node,
    position: usize,
    inputs: &[Signal],
    results: &[Signal],
    masked: &Masked<'_>,
) -> Result<(Vec<Signal>, Option<ValueId>), ModelError> {
    let find = |reference: NodeRef| {
        let missing = || ModelError::Reference { layer: node.name.clone(), reference };
        resolve(reference, inputs, results).ok_or_else(missing)
    };
    let mut read = Vec::with_capacity(node.inputs.len());
    let mut first = None;
    for (at, &reference) in node.inputs.iter().enumerate() {
        let signal = find(reference)?;
        let own = signal.mask.filter(|_| masked.is_masked_for(reference, position));
        let mask = match node.masks.get(at) {
            Some(&Some(said)) => Some(find(said)?.value),
            Some(None) if node.layer.is_told_all_masks() => None,
            _ if at == 0 && node.layer.overlooks_mask(node.inputs.len()) => None,
            _ => own,
        };
        first = if at == 0 { own } else { first };
        read.push(Signal { mask, ..signal });
    }
    Ok((read, first))
}

fn resolve(reference: NodeRef, inputs: &[Signal], results: &[Signal]) -> Option<Signal> {
    match reference {
        NodeRef::Input(position) => inputs.get(position).copied(),
        NodeRef::Node(position) => results.get(position).copied(),
    }
}

/// What the softmax or the sigmoid was applied to that made a node's result. Keras remembers it with the tensor, so it
/// is lost where a layer makes another tensor of it, be it equal, and stays where a layer gives back its input.
fn logits_behind(
    node: &Node,
    signals: &[Signal],
    result: ValueId,
    kept: &Kept,
    before: &[Option<ValueId>],
) -> Option<ValueId> {
    let Some(same) = signals.iter().position(|signal| signal.value == result) else {
        return kept.logits(result);
    };
    match (node.layer.gives_back(), node.inputs[same]) {
        (true, NodeRef::Node(position)) => before[position],
        (_, NodeRef::Node(_) | NodeRef::Input(_)) => None,
    }
}

/// The integers of an image as floats, for layers that compute with them and that Keras gives integers, too.
fn as_numbers(layer: &Layer, at: &mut Context<'_>, signals: Vec<Signal>) -> Result<Vec<Signal>, ShapeError> {
    let takes = [
        "dense",
        "batch_normalization",
        "layer_normalization",
        "global_average_pooling",
        "global_max_pooling",
        "max_pooling2d",
        "zero_padding2d",
    ];
    if !takes.contains(&layer.kind()) {
        return Ok(signals);
    }
    signals.into_iter().map(|signal| Ok(signal.with(at.float(signal.value)?))).collect()
}

/// The type of the counter that dropout reads.
pub(crate) fn step_type() -> TensorType {
    TensorType::new(ElementType::I32, Shape::scalar())
}
