//! The promise: what one step of a plan will do to memory, event for event.
//!
//! What `exec` records of a real step is compared with this.

use crate::Plan;
use plimsoll_graph::{Graph, Source};
use plimsoll_trace::{BlockId, Event, Label, LabelId, Time, Trace};

/// The trace of one step. Blocks and labels carry the numbers of the plan's buffers.
pub fn predict(graph: &Graph, plan: &Plan) -> Trace {
    let events = Vec::with_capacity(2 * plan.buffers.len());
    let mut trace = Trace { labels: labels(graph, plan), events, ..Trace::default() };
    let mut starts: Vec<Vec<u32>> = vec![Vec::new(); plan.order.len() + 1];
    let mut ends: Vec<Vec<u32>> = vec![Vec::new(); plan.order.len() + 1];
    for (index, buffer) in plan.buffers.iter().enumerate() {
        starts[buffer.live.start as usize].push(index as u32);
        ends[(buffer.live.end as usize).min(plan.order.len())].push(index as u32);
    }
    for step in 0..plan.order.len() {
        for &index in &starts[step] {
            let buffer = &plan.buffers[index as usize];
            trace.events.push(Event::Take {
                time: Time(step as u32),
                block: BlockId(index),
                offset: buffer.offset,
                bytes: buffer.bytes,
                label: LabelId(index),
            });
        }
        for &index in &ends[step + 1] {
            trace.events.push(Event::Free { time: Time(step as u32), block: BlockId(index) });
        }
    }
    trace
}

/// Who each buffer is for, in the order of the buffers.
pub fn labels(graph: &Graph, plan: &Plan) -> Vec<Label> {
    let mut labels: Vec<Label> = plan
        .buffers
        .iter()
        .map(|buffer| {
            let Some(&first) = buffer.values.first() else { return Label::default() };
            let value = graph.value(first);
            let (op, again) = match value.source {
                Source::Op(id) => (graph.op(id).kind.name().to_string(), graph.op(id).again),
                Source::Input | Source::Persistent(_) => (String::new(), false),
            };
            let layer = value.layer.map_or(String::new(), |layer| graph.layer_name(layer).to_string());
            Label { value: value.name.clone(), role: buffer.role.to_string(), layer, op, again }
        })
        .collect();
    for (&id, scratch) in plan.order.iter().zip(&plan.scratch) {
        let Some(scratch) = scratch else { continue };
        let op = graph.op(id);
        let layer = op.layer.map_or(String::new(), |layer| graph.layer_name(layer).to_string());
        let role = plan.buffer(*scratch).role.to_string();
        let value = format!("scratch of {}", op.kind.name());
        labels[scratch.0 as usize] =
            Label { value, role, layer, op: op.kind.name().to_string(), again: op.again };
    }
    labels
}
