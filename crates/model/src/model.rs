//! The Model document: layers and how they are connected, for any batch size.
//!
//! A **shared** layer is one that several nodes have: nodes of one name must have the same layer, and then they have
//! the same parameters. Each node is a call of its own, with its own inputs, dropout masks and place in reports
//! (`name`, `name:2`, ...).

use crate::{Layer, Penalty};
use plimsoll_graph::{ElementType, Shape};
use serde::{Deserialize, Serialize};

/// Layers and how they are connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// For people.
    pub name: String,
    /// What the caller gives.
    pub inputs: Vec<InputSpec>,
    /// The layers, each after those it reads.
    pub nodes: Vec<Node>,
    /// What the model predicts, one value or several.
    pub outputs: Vec<OutputSpec>,
    /// Whether attention takes the masks away from what it reads, as when Keras runs a model from a file: there, calls
    /// that need a mask name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loses_masks: bool,
    /// What is added to the loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub penalties: Vec<Penalty>,
}

/// One input of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSpec {
    /// The name the graph's input gets, and that data sets call it by: Keras's for imported models.
    pub name: String,
    /// The shape of one sample, without the batch.
    pub shape: Shape,
    /// What one element is.
    pub element: ElementType,
}

/// One output of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// What losses and data sets call it by; no two outputs have the same.
    pub name: String,
    /// Where it comes from.
    pub from: NodeRef,
}

/// One layer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its parameters are called `name/kernel` and so on; nodes of one name share them.
    pub name: String,
    /// What it does.
    pub layer: Layer,
    /// What it reads, in the order the layer names them.
    pub inputs: Vec<NodeRef>,
    /// Whether training changes it. A frozen layer's parameters have the role `statistic`: no gradient, no update, no
    /// optimizer state; a frozen batch normalization uses its moving averages in training too.
    #[serde(default = "yes")]
    pub trainable: bool,
    /// Masks that the layer is called with, in the place of those that its inputs bring along, by their positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<Option<NodeRef>>,
}

impl Model {
    /// Makes these the outputs, under the given names. A name that an output before has gets a number, from `_1` on.
    pub fn set_outputs<'a>(&mut self, outputs: impl IntoIterator<Item = (&'a str, NodeRef)>) {
        self.outputs.clear();
        for (wanted, from) in outputs {
            let taken = |name: &str| self.outputs.iter().any(|output| output.name == name);
            let mut name = wanted.to_string();
            let mut number = 1;
            while taken(&name) {
                name = format!("{wanted}_{number}");
                number += 1;
            }
            self.outputs.push(OutputSpec { name, from });
        }
    }

    /// The names of the outputs.
    pub fn output_names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|output| output.name.as_str())
    }
}

fn yes() -> bool {
    true
}

/// Something a layer can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeRef {
    /// An input, by its position.
    Input(usize),
    /// The result of a layer, by its position.
    Node(usize),
}
