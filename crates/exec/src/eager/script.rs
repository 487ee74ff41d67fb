//! What an eager run of a graph does, found once when the graph is loaded: the order of its ops, whose block each value
//! stands in, and after which op each block is free.
//!
//! Views share their input's block, updates write over the persistent block; every other output gets a block of its
//! own. Updates take nothing. Where they come last, a step that runs out of memory has updated nothing yet.

use super::pool::Held;
use super::residents::Residents;
use super::{Pool, Updates};
use crate::backend::{Guard, guard, judges_itself};
use crate::bound::BoundStep;
use crate::kernels::CpuKernels;
use plimsoll_graph::{Graph, Op, OpId, Role, Source, TensorType, ValueId};
use plimsoll_plan::{Kernels, bytes_of, order};
use plimsoll_trace::{Bytes, Label, LabelId};

/// A graph, ready to be run op by op.
pub(crate) struct Script {
    pub(crate) graph: Graph,
    pub(crate) steps: Vec<Step>,
    /// For each value, where it stands.
    pub(crate) places: Vec<Place>,
    /// For each value that owns a block of its own, that block while it is live.
    pub(crate) blocks: Vec<Option<Held>>,
    /// For each value, who it is in traces and evidence.
    pub(crate) labels: Vec<LabelId>,
}

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a block that lives across steps, by its position among the residents.
    Resident(usize),
    /// In the block of the value that was computed into it first, which is this one unless this one is a view.
    Block(ValueId),
}

/// One op with what it asks of the pool.
pub(crate) struct Step {
    /// The op, its guard, and the views its kernel gets, made anew in every run.
    pub(crate) bound: BoundStep,
    /// Outputs that need a block.
    pub(crate) takes: Vec<ValueId>,
    /// How much scratch, and for whom.
    pub(crate) scratch: Option<(Bytes, LabelId)>,
    /// Values whose block is free afterwards.
    pub(crate) frees: Vec<ValueId>,
}

impl Script {
    /// Finds what a graph does. The residents must already be there.
    pub(crate) fn new(
        graph: Graph,
        watched: &[ValueId],
        updates: Updates,
        kernels: CpuKernels,
        residents: &Residents,
        pool: &mut Pool,
    ) -> Self {
        let order = order::order(&graph, updates == Updates::WhenReady);
        let places = places(&graph, &order, residents);
        let labels = graph.value_ids().map(|id| pool.add_label(label(&graph, id))).collect();
        let watched = (!judges_itself(&graph)).then_some(watched);
        let make = |id: OpId| step(&graph, id, watched, kernels, &places, pool);
        let mut steps: Vec<Step> = order.iter().copied().map(make).collect();
        mark_frees(&graph, &places, &mut steps);
        let blocks = vec![None; graph.values().len()];
        Self { graph, steps, places, blocks, labels }
    }

    /// The block a value stands in, if it is live.
    pub(crate) fn held(&self, value: ValueId, residents: &Residents) -> Option<Held> {
        match self.places[value.index()] {
            Place::Resident(index) => Some(residents.held(index)),
            Place::Block(owner) => self.blocks[owner.index()],
        }
    }

    /// Takes back every block of the script.
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        for block in self.blocks.iter_mut().filter_map(Option::take) {
            pool.free(block);
        }
    }
}

fn places(graph: &Graph, order: &[OpId], residents: &Residents) -> Vec<Place> {
    let mut places: Vec<Place> = (graph.value_ids())
        .map(|id| match graph.value(id).source {
            Source::Persistent(_) => Place::Resident(residents.find(&graph.value(id).name)),
            Source::Input | Source::Op(_) => Place::Block(id),
        })
        .collect();
    for op in order.iter().map(|&id| graph.op(id)) {
        if op.kind.is_view() {
            places[op.outputs[0].index()] = places[op.inputs[0].index()];
        }
        for update in op.kind.updates() {
            places[op.outputs[update.output].index()] = places[op.inputs[update.input].index()];
        }
    }
    places
}

fn step(
    graph: &Graph,
    id: OpId,
    watched: Option<&[ValueId]>,
    kernels: CpuKernels,
    places: &[Place],
    pool: &mut Pool,
) -> Step {
    let op = graph.op(id);
    let types =
        |values: &[ValueId]| values.iter().map(|&v| graph.tensor(v).clone()).collect::<Vec<TensorType>>();
    let bytes = kernels.scratch(&op.kind, &types(&op.inputs), &types(&op.outputs));
    let scratch = (bytes > Bytes::ZERO).then(|| (bytes, pool.add_label(scratch_label(graph, op))));
    let owns = |value: &ValueId| places[value.index()] == Place::Block(*value);
    let takes = op.outputs.iter().copied().filter(owns).collect();
    let guard = watched.map_or(Guard::None, |watched| guard(op, watched));
    Step { bound: BoundStep::unbound(id, guard), takes, scratch, frees: Vec::new() }
}

/// Marks the last step that touches each block, except for what the caller may read afterwards.
fn mark_frees(graph: &Graph, places: &[Place], steps: &mut [Step]) {
    let mut last: Vec<Option<usize>> = vec![None; places.len()];
    let mut touch = |value: ValueId, step: usize| {
        if let Place::Block(owner) = places[value.index()] {
            last[owner.index()] = Some(step);
        }
    };
    graph.inputs().for_each(|input| touch(input, 0));
    for (index, step) in steps.iter().enumerate() {
        let op = graph.op(step.bound.op);
        op.inputs.iter().chain(&op.outputs).for_each(|&value| touch(value, index));
    }
    for &output in graph.outputs() {
        if let Place::Block(owner) = places[output.index()] {
            last[owner.index()] = None;
        }
    }
    for id in graph.value_ids() {
        if let Some(step) = last[id.index()].and_then(|step| steps.get_mut(step)) {
            step.frees.push(id);
        }
    }
}

/// Who a value is.
pub(crate) fn label(graph: &Graph, id: ValueId) -> Label {
    let value = graph.value(id);
    let (op, again) = match value.source {
        Source::Op(op) => (graph.op(op).kind.name().to_string(), graph.op(op).again),
        Source::Input | Source::Persistent(_) => (String::new(), false),
    };
    let layer = value.layer.map_or("", |layer| graph.layer_name(layer)).to_string();
    Label { value: value.name.clone(), role: value.role.to_string(), layer, op, again }
}

fn scratch_label(graph: &Graph, op: &Op) -> Label {
    let name = op.kind.name().to_string();
    let layer = op.layer.map_or("", |layer| graph.layer_name(layer)).to_string();
    let (value, role) = (format!("scratch of {name}"), Role::Workspace.to_string());
    Label { value, role, layer, op: name, again: op.again }
}

/// How many bytes a value takes.
pub(crate) fn bytes(graph: &Graph, value: ValueId) -> Bytes {
    bytes_of(graph.tensor(value))
}
