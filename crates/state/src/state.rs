//! What training has learned so far.
//!
//! ```text
//! names are unique; every role means something between steps
//! updates <= step          (a step whose update was skipped counts as a step alone)
//! epoch   <= position      (an epoch has at least one sample)
//! ```

use plimsoll_graph::{ElementType, Role, TensorType};
use plimsoll_trace::Bytes;
use std::collections::BTreeMap;

/// Named tensors and how far the run is. What is in the tensors is elsewhere: see [`crate::Contents`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The model's name.
    pub model: String,
    /// Parameters, statistics and what the optimizer remembers.
    pub tensors: Vec<Tensor>,
    /// Steps made.
    pub step: u64,
    /// Steps whose update was applied: all of them, unless some were skipped.
    pub updates: u64,
    /// How often the data was gone through completely.
    pub epoch: u64,
    /// Samples drawn since the beginning.
    pub position: u64,
    /// What decides the order of samples and what dropout drops.
    pub seed: u64,
    /// What else a run wants to find again.
    pub extras: BTreeMap<String, String>,
}

/// A tensor of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// As in the graph, such as `conv1/kernel`.
    pub name: String,
    /// Shape and element type.
    pub tensor: TensorType,
    /// Why it exists.
    pub role: Role,
}

impl State {
    /// What all tensors take.
    ///
    /// # Panics
    /// If they are more than can be counted; [`crate::verify`] refuses such states.
    pub fn bytes(&self) -> Bytes {
        self.tensors.iter().map(Tensor::bytes).sum()
    }
}

impl Tensor {
    /// What it takes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.tensor.shape.elements() as u64 * element_bytes(self.tensor.element))
    }
}

/// What one element takes.
pub(crate) fn element_bytes(element: ElementType) -> u64 {
    element.bits() / 8
}
