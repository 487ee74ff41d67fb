//! In which order Keras runs the layers of a model, as far as masks depend on it.
//!
//! Keras keeps a mask with its tensor, and `MultiHeadAttention` takes it away from the tensors it reads: layers that
//! run later do not see it any more. Layers run by their depth, the longest way to an output, deepest first.

use crate::layer::Layer;
use crate::{Mode, Model, NodeRef};
use std::collections::HashMap;

/// Who still sees the masks of a model.
pub(crate) struct Masked<'a> {
    model: &'a Model,
    mode: Mode,
    /// For each node when it runs.
    ranks: Vec<usize>,
    /// When a tensor loses its mask.
    lost: HashMap<NodeRef, usize>,
}

impl<'a> Masked<'a> {
    pub(crate) fn new(model: &'a Model, mode: Mode) -> Self {
        let taking = |node: &&crate::Node| match &node.layer {
            Layer::MultiHeadAttention(attention) => attention.key_value_heads.is_none(),
            _ => false,
        };
        let any = model.loses_masks && model.nodes.iter().any(|node| taking(&node));
        let ranks = if any { ranks(model) } else { Vec::new() };
        let mut masked = Self { model, mode, ranks, lost: HashMap::new() };
        if !any {
            return masked;
        }
        for (position, node) in model.nodes.iter().enumerate().filter(|(_, node)| taking(node)) {
            for &read in node.inputs.iter().take(3) {
                let (tensor, rank) = (masked.tensor(read), masked.ranks[position]);
                let first = masked.lost.entry(tensor).or_insert(rank);
                *first = rank.min(*first);
            }
        }
        masked
    }

    /// Whether a node sees the mask of what it reads.
    pub(crate) fn is_masked_for(&self, read: NodeRef, node: usize) -> bool {
        self.lost.get(&self.tensor(read)).is_none_or(|&lost| self.ranks[node] <= lost)
    }

    /// Whether a mask is still there when all layers have run.
    pub(crate) fn is_masked(&self, output: NodeRef) -> bool {
        !self.lost.contains_key(&self.tensor(output))
    }

    /// The tensor that a result is: that of another node, where a layer gives back its very input.
    fn tensor(&self, mut read: NodeRef) -> NodeRef {
        while let NodeRef::Node(position) = read
            && let Some(node) = self.model.nodes.get(position)
            && let ([input], true) = (&node.inputs[..], node.layer.does_nothing(self.mode))
        {
            read = *input;
        }
        read
    }
}

/// When each node runs, as Keras's `map_graph` has it: calls of one layer are as deep as the deepest.
fn ranks(model: &Model) -> Vec<usize> {
    let mut depths: Vec<Option<usize>> = vec![None; model.nodes.len()];
    let mut layers: HashMap<&str, usize> = HashMap::new();
    let mut found: Vec<usize> = Vec::with_capacity(model.nodes.len());
    for (position, node) in model.nodes.iter().enumerate().rev() {
        if depths[position].is_none() {
            found.push(position);
        }
        let layer = layers.entry(&node.name).or_default();
        let depth = depths[position].unwrap_or(0).max(*layer);
        (depths[position], *layer) = (Some(depth), depth);
        for &read in node.inputs.iter().chain(node.masks.iter().flatten()) {
            let NodeRef::Node(before) = read else { continue };
            if before < position {
                if depths[before].is_none() {
                    found.push(before);
                }
                depths[before] = Some(depths[before].unwrap_or(0).max(depth + 1));
            }
        }
    }
    found.sort_by_key(|&position| std::cmp::Reverse(depths[position]));
    let mut ranks = vec![0; model.nodes.len()];
    found.iter().enumerate().for_each(|(rank, &position)| ranks[position] = rank);
    ranks
}
