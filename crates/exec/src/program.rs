//! A verified plan bound to the addresses of one arena: nothing is looked up, computed or allocated when it runs.
//!
//! What becomes live and what dies at each step is found from the views themselves, not from the plan's live ranges, so that
//! the trace a run records can be compared with the one the plan predicted.

#![allow(unsafe_code)]

use crate::kernels::{Input, Output};
use plimsoll_graph::{Graph, Op, OpId, OpKind, Phase, Source, TensorType, ValueId};
use plimsoll_memory::HostArena;
use plimsoll_plan::{BufferId, Plan, VerifiedPlan, bytes_of, labels};
use plimsoll_trace::{Bytes, Trace};

/// A plan bound to an arena.
pub(crate) struct Program {
    pub(crate) plan: VerifiedPlan,
    pub(crate) steps: Vec<BoundStep>,
    /// What the last run did to memory, with room for all events of a run.
    pub(crate) recording: Trace,
}

/// One op with the views its kernel gets.
pub(crate) struct BoundStep {
    pub(crate) op: OpId,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) scratch: Option<Output>,
    /// Buffers that are first touched by this step.
    pub(crate) takes: Vec<BufferId>,
    /// Buffers that are last touched by this step.
    pub(crate) frees: Vec<BufferId>,
    /// The end of the highest buffer that the views of this step show.
    pub(crate) reach: Bytes,
    /// What is checked to be finite in every run: a gradient before it is applied, a watched value after it was computed.
    pub(crate) guard: Guard,
}

/// Which view of a step must be finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    None,
    Input(usize),
    Output(usize),
}

impl Program {
    /// Binds a plan to an arena; `watched` are values that must be finite whenever they were computed.
    ///
    /// # Panics
    /// If the arena is smaller than the plan's peak.
    pub(crate) fn bind(plan: VerifiedPlan, arena: &mut HostArena, watched: &[ValueId]) -> Self {
        let mut steps: Vec<BoundStep> = Vec::with_capacity(plan.plan().order.len());
        for (index, &id) in plan.plan().order.iter().enumerate() {
            steps.push(bind_step(&plan, arena, index, id, watched));
        }
        mark_lives(&plan, &mut steps);
        let events = steps.iter().map(|step| step.takes.len() + step.frees.len()).sum();
        let labels = labels(plan.graph(), plan.plan());
        let recording = Trace { labels, events: Vec::with_capacity(events), ..Trace::default() };
        Self { plan, steps, recording }
    }
}

fn bind_step(
    plan: &VerifiedPlan,
    arena: &mut HostArena,
    index: usize,
    id: OpId,
    watched: &[ValueId],
) -> BoundStep {
    let (graph, layout) = (plan.graph(), plan.plan());
    let op = graph.op(id);
    let mut reach = Bytes::ZERO;
    let mut address = |value: ValueId| {
        let buffer = layout.buffer_of(value).expect("a verified plan stores what it computes");
        reach = reach.max(buffer.end().distance());
        arena.address(buffer.offset, bytes_of(graph.tensor(value)))
    };
    let inputs = (op.inputs.iter().enumerate())
        .map(|(input, &value)| {
            let start = address(value).cast_const();
            // SAFETY: the arena outlives the program, the address was checked to lie inside it, and the verified plan
            // keeps everything but the output that replaces it away while the step runs.
            unsafe { Input::new(graph.tensor(value).clone(), start, replaced_by(graph, layout, op, input)) }
        })
        .collect();
    let outputs = (op.outputs.iter())
        // SAFETY: as above; the verified plan gives each output of a step bytes of its own.
        .map(|&value| unsafe { Output::new(graph.tensor(value).clone(), address(value)) })
        .collect();
    let scratch = layout.scratch[index].map(|buffer| {
        let buffer = layout.buffer(buffer);
        reach = reach.max(buffer.end().distance());
        let floats = TensorType::f32([buffer.bytes.as_usize() / 4]);
        // SAFETY: as above; the verified plan keeps scratch apart from all values of its step.
        unsafe { Output::new(floats, arena.address(buffer.offset, buffer.bytes)) }
    });
    let guard = guard(op, watched);
    BoundStep { op: id, inputs, outputs, scratch, takes: Vec::new(), frees: Vec::new(), reach, guard }
}

/// The output that shares its buffer with an input.
fn replaced_by(graph: &Graph, layout: &Plan, op: &Op, input: usize) -> Option<usize> {
    let storage = |value: ValueId| layout.storage[value.index()];
    let shared = op.outputs.iter().position(|&output| storage(output) == storage(op.inputs[input]));
    debug_assert!(shared.is_none_or(|output| {
        bytes_of(graph.tensor(op.outputs[output])) == bytes_of(graph.tensor(op.inputs[input]))
    }));
    shared
}

pub(crate) fn guard(op: &Op, watched: &[ValueId]) -> Guard {
    // An update reads the gradient as its second input, and a non-finite one would ruin the parameter for good.
    if matches!(op.kind, OpKind::Update(_)) {
        return Guard::Input(1);
    }
    op.outputs.iter().position(|output| watched.contains(output)).map_or(Guard::None, Guard::Output)
}

/// Finds the first and the last step that touch each buffer. What the caller writes is there from the start; what the
/// caller may read, and what is persistent, stays to the end.
fn mark_lives(plan: &VerifiedPlan, steps: &mut [BoundStep]) {
    let (graph, layout) = (plan.graph(), plan.plan());
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; layout.buffers.len()];
    let mut touch = |buffer: Option<BufferId>, step: usize| {
        let Some(buffer) = buffer else { return };
        let (first, last) = lives[buffer.0 as usize].unwrap_or((step, step));
        lives[buffer.0 as usize] = Some((first.min(step), last.max(step)));
    };
    for (step, &id) in layout.order.iter().enumerate() {
        let op = graph.op(id);
        op.inputs.iter().chain(&op.outputs).for_each(|value| touch(layout.storage[value.index()], step));
        touch(layout.scratch[step], step);
    }
    let end = steps.len().saturating_sub(1);
    for id in graph.value_ids() {
        let source = &graph.value(id).source;
        if !matches!(source, Source::Op(_)) {
            touch(layout.storage[id.index()], 0);
        }
        if matches!(source, Source::Persistent(_)) || graph.outputs().contains(&id) {
            touch(layout.storage[id.index()], end);
        }
    }
    if steps.is_empty() {
        return;
    }
    for (index, life) in lives.into_iter().enumerate() {
        let Some((first, last)) = life else { continue };
        steps[first].takes.push(BufferId(index as u32));
        steps[last].frees.push(BufferId(index as u32));
    }
}

impl BoundStep {
    /// A step whose views are made when it runs.
    pub(crate) fn unbound(op: OpId, guard: Guard) -> Self {
        let (inputs, outputs, scratch, takes, frees) = (Vec::new(), Vec::new(), None, Vec::new(), Vec::new());
        Self { op, inputs, outputs, scratch, takes, frees, reach: Bytes::ZERO, guard }
    }

    /// Whether the step belongs to the forward pass.
    pub(crate) fn is_forward(&self, graph: &Graph) -> bool {
        graph.op(self.op).phase == Phase::Forward
    }
}
