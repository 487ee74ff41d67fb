//! What lowering keeps from layer to layer: what shared layers have in common.

use super::Signal;
use crate::Model;
use plimsoll_graph::ValueId;
use std::collections::{HashMap, HashSet};

/// What lowering keeps from layer to layer.
pub struct Kept {
    /// The input that counts steps, once somebody has asked for it.
    pub(super) step: Option<ValueId>,
    /// What layers gave beside their results.
    pub(super) others: HashMap<ValueId, Vec<Signal>>,
    /// Parameters and statistics by the names of their layers and their own.
    pub(super) persistents: HashMap<(String, String), ValueId>,
    /// What they are called in the graph.
    names: HashSet<String>,
    /// What the calls of a shared layer so far have found for each statistic.
    found: HashMap<ValueId, Vec<ValueId>>,
    /// What the softmax or the sigmoid was applied to that made a value.
    pub(super) logits: HashMap<ValueId, ValueId>,
    /// How often each layer is called, and how often it was called so far.
    calls: HashMap<String, (usize, usize)>,
}

impl Kept {
    /// Before the first layer of a model.
    pub(crate) fn new(model: &Model) -> Self {
        let mut calls: HashMap<String, (usize, usize)> = HashMap::new();
        for node in &model.nodes {
            calls.entry(node.name.clone()).or_default().0 += 1;
        }
        let inputs = model.inputs.iter().map(|input| input.name.clone());
        Self {
            step: None,
            others: HashMap::new(),
            persistents: HashMap::new(),
            names: HashSet::from_iter(inputs),
            found: HashMap::new(),
            logits: HashMap::new(),
            calls,
        }
    }

    /// What a value's softmax or sigmoid was applied to, if one made it.
    pub(crate) fn logits(&self, value: ValueId) -> Option<ValueId> {
        self.logits.get(&value).copied()
    }

    /// Begins a call of a layer and gives its name: the layer's, with the number of the call from the second on.
    pub(crate) fn call(&mut self, layer: &str) -> String {
        let (_, so_far) = self.calls.get_mut(layer).expect("all nodes were counted");
        *so_far += 1;
        if *so_far == 1 { layer.to_string() } else { format!("{layer}:{so_far}") }
    }

    /// Whether a layer is called more than once.
    pub(super) fn is_shared(&self, layer: &str) -> bool {
        self.calls.get(layer).is_some_and(|&(all, _)| all > 1)
    }

    /// What a layer's parameter is called: `layer/kernel`, unless that is another layer's `kernel` or an input.
    pub(super) fn free_name(&mut self, layer: &str, parameter: &str) -> String {
        let mut name = format!("{layer}/{parameter}");
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{layer}/{parameter}_{number}");
            number += 1;
        }
        name
    }

    /// Notes what this call of a layer has found for a statistic; after the last step of the last call, gives what all
    /// of them have found.
    pub(super) fn found(
        &mut self,
        layer: &str,
        statistic: ValueId,
        value: ValueId,
        last_step: bool,
    ) -> Option<Vec<ValueId>> {
        self.found.entry(statistic).or_default().push(value);
        let (all, so_far) = self.calls[layer];
        if all == so_far && last_step { self.found.remove(&statistic) } else { None }
    }
}
