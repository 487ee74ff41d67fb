//! What a run does to memory, step by step.
//!
//! What becomes live and what dies is found from what ops touch, not from the plan's live ranges, so that the trace a
//! run records can be compared with the one the plan predicted.

use plimsoll_graph::{Graph, Source};
use plimsoll_plan::{BufferId, Plan, VerifiedPlan, labels};
use plimsoll_trace::{BlockId, Event, LabelId, Time, Trace};

/// The buffers that each step of a plan is the first or the last to touch.
pub(crate) struct Lives {
    pub(crate) takes: Vec<Vec<BufferId>>,
    pub(crate) frees: Vec<Vec<BufferId>>,
}

impl Lives {
    /// Finds the first and the last step that touch each buffer. What the caller writes is there from the start; what
    /// the caller may read, and what is persistent, stays to the end.
    pub(crate) fn of(graph: &Graph, plan: &Plan) -> Self {
        let steps = plan.order.len();
        let mut lives = Self { takes: vec![Vec::new(); steps], frees: vec![Vec::new(); steps] };
        if steps > 0 {
            for (index, life) in touches(graph, plan).into_iter().enumerate() {
                let Some((first, last)) = life else { continue };
                lives.takes[first].push(BufferId(index as u32));
                lives.frees[last].push(BufferId(index as u32));
            }
        }
        lives
    }

    /// An empty trace with room for all events of a run.
    pub(crate) fn room(&self, plan: &VerifiedPlan) -> Trace {
        let events = self.takes.iter().chain(&self.frees).map(Vec::len).sum();
        let labels = labels(plan.graph(), plan.plan());
        Trace { labels, events: Vec::with_capacity(events), ..Trace::default() }
    }

    /// Writes down what a run did that completed so many steps, and began one more unless that was the last.
    pub(crate) fn record(&self, plan: &Plan, completed: usize, recording: &mut Trace) {
        recording.events.clear();
        for step in 0..self.takes.len().min(completed + 1) {
            let time = Time(step as u32);
            recording.events.extend(self.takes[step].iter().map(|&id| take(plan, id, time)));
            if step < completed {
                let free = |id: &BufferId| Event::Free { time, block: BlockId(id.0) };
                recording.events.extend(self.frees[step].iter().map(free));
            }
        }
    }
}

fn take(plan: &Plan, id: BufferId, time: Time) -> Event {
    let buffer = plan.buffer(id);
    let (offset, bytes) = (buffer.offset, buffer.bytes);
    Event::Take { time, block: BlockId(id.0), offset, bytes, label: LabelId(id.0) }
}

/// For each buffer the first and the last step that touch it.
fn touches(graph: &Graph, plan: &Plan) -> Vec<Option<(usize, usize)>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; plan.buffers.len()];
    let mut touch = |buffer: Option<BufferId>, step: usize| {
        let Some(buffer) = buffer else { return };
        let (first, last) = lives[buffer.0 as usize].unwrap_or((step, step));
        lives[buffer.0 as usize] = Some((first.min(step), last.max(step)));
    };
    for (step, &id) in plan.order.iter().enumerate() {
        let op = graph.op(id);
        op.inputs.iter().chain(&op.outputs).for_each(|value| touch(plan.storage[value.index()], step));
        touch(plan.scratch[step], step);
    }
    let end = plan.order.len().saturating_sub(1);
    for id in graph.value_ids() {
        let source = &graph.value(id).source;
        if !matches!(source, Source::Op(_)) {
            touch(plan.storage[id.index()], 0);
        }
        if matches!(source, Source::Persistent(_)) || graph.outputs().contains(&id) {
            touch(plan.storage[id.index()], end);
        }
    }
    lives
}
