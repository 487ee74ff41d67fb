//! Recomputation in TensorFlow: a model in parts, each of which keeps what it reads and nothing else, and is computed
//! again when its gradient is asked for (`tf.recompute_grad`, which Keras calls `remat`).
//!
//! Evidence, from traces of five models in two to six parts (`bench/peers/tensorflow_memory/recompute_measured.csv`):
//! what a part reads is copied by an addition that waits for the gradient of its result, in place where nobody else
//! reads it; then all its kernels run again. Keras's `RematScope` computes every layer by itself again, so that the
//! results of all layers stay: it saves less, and more is kept where layers run in place without it.

use crate::lowering::Lowering;
use crate::pass::{self, Tape};
use crate::program::TensorId;
use plimsoll_graph::{Graph, LayerId, Op, OpKind, Phase, Role, Source, ValueId};
use plimsoll_model::{Mode, Model, ModelError};

/// Into how many parts a model is cut where it helps.
pub const COUNTS: [u32; 5] = [2, 3, 4, 6, 8];

/// A place where only one value goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// How many ops are before it.
    ops: usize,
    /// The layer whose result goes on.
    layer: LayerId,
    /// The elements of the results of the layers before it.
    before: u64,
}

/// Ops that run one after the other, and whether they are computed again. The last part is not: its gradient is asked
/// for as soon as it has run.
pub fn parts<'a, 'g>(graph: &Graph, ops: &'a [&'g Op], count: u32) -> Vec<(&'a [&'g Op], bool)> {
    let mut parts = Vec::new();
    let mut start = 0;
    for cut in chosen(graph, ops, count) {
        parts.push((&ops[start..cut.ops], true));
        start = cut.ops;
    }
    parts.push((&ops[start..], false));
    parts
}

/// The layers at whose results a model in so many parts is cut.
pub fn borders(graph: &Graph, count: u32) -> Vec<String> {
    let ops: Vec<&Op> = graph.ops().iter().filter(|op| op.phase == Phase::Forward).collect();
    chosen(graph, &ops, count).into_iter().map(|cut| graph.layer_name(cut.layer).to_string()).collect()
}

/// Whether a model computes the same numbers again: nothing in it is drawn at random, since Keras draws other numbers
/// the second time, nothing is remembered from step to step, since moving averages would move twice, and nothing inside
/// of it adds to the loss.
pub fn is_exact(model: &Model) -> Result<bool, ModelError> {
    let graph = model.lower(1, Mode::Training)?;
    // What is drawn depends on an input beside the model's, which counts steps.
    let draws = graph.inputs().count() > model.inputs.len();
    let remembers = graph.with_role(Role::Statistic).next().is_some()
        || graph.ops().iter().any(|op| matches!(op.kind, OpKind::BatchNorm(_)));
    let adds = !model.penalties.is_empty();
    Ok(!draws && !remembers && !adds && model.inputs.len() == 1 && !borders(&graph, COUNTS[0]).is_empty())
}

/// Cuts that are as evenly apart as can be.
fn chosen(graph: &Graph, ops: &[&Op], count: u32) -> Vec<Cut> {
    if count < 2 {
        return Vec::new();
    }
    let (all, total) = cuts(graph, ops);
    let nearest = |part: u32| {
        // Without division, so that every batch is cut at the same layers.
        let off = |cut: &&Cut| (cut.before * u64::from(count)).abs_diff(total * u64::from(part));
        all.iter().min_by_key(off).copied()
    };
    let mut chosen: Vec<Cut> = (1..count).filter_map(nearest).collect();
    chosen.dedup();
    chosen
}

/// Everywhere a graph can be cut: behind the last op of a layer of which a model has one, where no earlier value is
/// read later but its result. Also gives the elements of all layers' results.
fn cuts(graph: &Graph, ops: &[&Op]) -> (Vec<Cut>, u64) {
    let mut last_read = vec![0; graph.values().len()];
    for (place, op) in ops.iter().enumerate() {
        op.inputs.iter().for_each(|input| last_read[input.index()] = place);
    }
    graph.outputs().iter().for_each(|output| last_read[output.index()] = ops.len());
    let is_carried = |value: ValueId| !matches!(graph.value(value).source, Source::Persistent(_));
    let (mut live, mut before, mut cuts) = (graph.inputs().collect::<Vec<_>>(), 0, Vec::new());
    for (place, op) in ops.iter().enumerate() {
        live.extend(op.outputs.iter().copied().filter(|&output| is_carried(output)));
        live.retain(|value| last_read[value.index()] > place);
        let ends = ops.get(place + 1).is_none_or(|next| op.layer != next.layer);
        before += if ends { graph.tensor(op.outputs[0]).shape.elements() as u64 } else { 0 };
        if let (true, &[only], Some(layer)) = (ends, &live[..], op.layer)
            && op.outputs.first() == Some(&only)
            && is_one_layer(graph, layer)
            && place + 1 < ops.len()
        {
            cuts.push(Cut { ops: place + 1, layer, before });
        }
    }
    (cuts, before)
}

/// Whether Keras finds a layer by its name: it stands in no other, and is called once.
fn is_one_layer(graph: &Graph, layer: LayerId) -> bool {
    let name = graph.layer_name(layer);
    let same = graph.layers().iter().filter(|other| other.as_str() == name).count();
    !name.contains('/') && same == 1
}

/// A part of a model that has run forward.
pub enum Part<'a, 'g> {
    /// What its ops keep for their gradients.
    Kept(Tape<'g>),
    /// It runs again.
    Again {
        /// Its ops.
        ops: &'a [&'g Op],
        /// How many products with a kernel there were before it.
        products: usize,
    },
}

impl<'a, 'g> Part<'a, 'g> {
    /// Runs ops forward.
    pub fn forward(at: &mut Lowering<'_>, ops: &'a [&'g Op], again: bool) -> Self {
        let products = at.products;
        let tape = pass::forward(at, ops);
        if again { Self::Again { ops, products } } else { Self::Kept(tape) }
    }

    /// Runs them backward.
    pub fn backward(self, at: &mut Lowering<'_>) {
        match self {
            Self::Kept(tape) => pass::backward(at, tape),
            Self::Again { ops, products } => again(at, ops, products),
        }
    }
}

/// Copies what the ops read from before them, runs them once more, then backward.
fn again(at: &mut Lowering<'_>, ops: &[&Op], products: usize) {
    let last = ops[ops.len() - 1];
    at.layer = last.layer;
    let Some(dy) = at.gradient_of(last.outputs[0]) else { return };
    let read: Vec<(ValueId, TensorId)> = carried_in(at, ops);
    for &(value, tensor) in &read {
        let copy = at.reuse("AddV2", &[tensor, dy], at.program.tensor(tensor).bytes);
        at.set(value, copy);
    }
    let all = std::mem::replace(&mut at.products, products);
    let tape = pass::forward(at, ops);
    at.products = all;
    at.give(last.outputs[0], dy);
    pass::backward(at, tape);
    read.into_iter().for_each(|(value, tensor)| at.set(value, tensor));
}

/// The values that ops read and do not make, but for variables.
fn carried_in(at: &Lowering<'_>, ops: &[&Op]) -> Vec<(ValueId, TensorId)> {
    let made = |value: ValueId| ops.iter().any(|op| op.outputs.contains(&value));
    let mut read: Vec<ValueId> = ops.iter().flat_map(|op| op.inputs.iter().copied()).collect();
    read.sort_unstable();
    read.dedup();
    let is_carried = |value: &ValueId| {
        !made(*value)
            && !matches!(at.graph.value(*value).source, Source::Persistent(_))
            && at.has_tensor(*value)
    };
    read.into_iter().filter(is_carried).map(|value| (value, at.tensor(value))).collect()
}
