//! Putting layers together in Rust.

use crate::{InputSpec, Layer, Model, Node, NodeRef};
use plimsoll_graph::{ElementType, Shape};
use std::collections::HashMap;

/// A model under construction. What is wrong with it is said when it is lowered.
#[derive(Clone, Debug)]
pub struct Builder {
    model: Model,
    /// How many layers of each kind were added without a name.
    unnamed: HashMap<&'static str, usize>,
}

impl Builder {
    /// A model without layers.
    pub fn new(name: impl Into<String>) -> Self {
        let (inputs, nodes, outputs, penalties) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            model: Model { name: name.into(), inputs, nodes, outputs, loses_masks: false, penalties },
            unnamed: HashMap::new(),
        }
    }

    /// Adds a float32 input; the shape is that of one sample, without the batch. It is called `x`, the next ones `x1`,
    /// `x2` and so on.
    pub fn input(&mut self, shape: impl Into<Shape>) -> NodeRef {
        self.named_input(self.next_input(), shape, ElementType::F32)
    }

    /// Adds an input of so many int32 token ids a sample.
    pub fn tokens(&mut self, length: usize) -> NodeRef {
        self.named_input(self.next_input(), [length], ElementType::I32)
    }

    /// Adds an input that data sets call by this name.
    pub fn named_input(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        element: ElementType,
    ) -> NodeRef {
        self.model.inputs.push(InputSpec { name: name.into(), shape: shape.into(), element });
        NodeRef::Input(self.model.inputs.len() - 1)
    }

    /// Adds a layer that reads the given results. The same layer under the same name is a second use of it, with the
    /// same parameters.
    pub fn add(&mut self, name: impl Into<String>, layer: impl Into<Layer>, inputs: &[NodeRef]) -> NodeRef {
        let (name, layer, inputs) = (name.into(), layer.into(), inputs.to_vec());
        self.model.nodes.push(Node { name, layer, inputs, trainable: true, masks: Vec::new() });
        NodeRef::Node(self.model.nodes.len() - 1)
    }

    /// Adds a layer under the name Keras would give it: its kind, then `_1`, `_2` and so on.
    pub fn push(&mut self, layer: impl Into<Layer>, inputs: &[NodeRef]) -> NodeRef {
        let layer = layer.into();
        let kind = layer.kind();
        let earlier = self.unnamed.entry(kind).or_insert(0);
        let name = if *earlier == 0 { kind.to_string() } else { format!("{kind}_{earlier}") };
        *earlier += 1;
        self.add(name, layer, inputs)
    }

    /// Keeps training from changing a layer, and all layers of its name; inputs stay as they are.
    pub fn freeze(&mut self, layer: NodeRef) {
        let NodeRef::Node(position) = layer else { return };
        let Some(name) = self.model.nodes.get(position).map(|node| node.name.clone()) else { return };
        self.model.nodes.iter_mut().filter(|node| node.name == name).for_each(|node| node.trainable = false);
    }

    /// The finished model, with one output.
    pub fn build(self, output: NodeRef) -> Model {
        self.build_all(&[output])
    }

    /// The finished model, with several outputs, which are called like the layers they come from.
    pub fn build_all(mut self, outputs: &[NodeRef]) -> Model {
        let named: Vec<(String, NodeRef)> = outputs.iter().map(|&from| (self.name_of(from), from)).collect();
        self.model.set_outputs(named.iter().map(|(name, from)| (name.as_str(), *from)));
        self.model
    }

    fn next_input(&self) -> String {
        match self.model.inputs.len() {
            0 => "x".to_string(),
            position => format!("x{position}"),
        }
    }

    fn name_of(&self, value: NodeRef) -> String {
        let name = match value {
            NodeRef::Input(position) => self.model.inputs.get(position).map(|input| &input.name),
            NodeRef::Node(position) => self.model.nodes.get(position).map(|node| &node.name),
        };
        name.cloned().unwrap_or_default()
    }
}
