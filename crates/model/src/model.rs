//! The Model document: layers and how they are connected, for any batch size.
//!
//! A **shared** layer is one that several nodes have: nodes of one name must have the same layer, and then they have the same
//! parameters. Each node is a call of its own, with its own inputs, dropout masks and place in reports (`name`, `name:2`, ...).

use crate::Layer;
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
    /// What the model predicts, one value or several; training follows the first.
    pub outputs: Vec<NodeRef>,
}

/// One input of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSpec {
    /// The name the graph's input gets; `x` if there is only one.
    pub name: String,
    /// The shape of one sample, without the batch.
    pub shape: Shape,
    /// What one element is.
    pub element: ElementType,
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
    /// Whether training changes it. A frozen layer's parameters have the role `statistic`: no gradient, no update, no optimizer
    /// state; a frozen batch normalization uses its moving averages in training too.
    #[serde(default = "yes")]
    pub trainable: bool,
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
