//! When each op runs.
//!
//! Forward and backward ops keep the order of the graph. An update runs as soon as it may: when its inputs exist and
//! everything that reads the old value has run. Ops that neither an output nor an update depends on do not run at all.

use plimsoll_graph::{Graph, OpId, Phase, Source, ValueId};

/// The ops that run, in their order.
pub fn order(graph: &Graph, update_when_ready: bool) -> Vec<OpId> {
    let (updates, others) = updates_and_others(graph);
    match update_when_ready {
        false => others.into_iter().chain(updates).collect(),
        true => interleave(graph, &others, &updates),
    }
}

/// The ops that run: those of phase Update, and the others.
pub(crate) fn updates_and_others(graph: &Graph) -> (Vec<OpId>, Vec<OpId>) {
    let runs = needed(graph);
    graph.op_ids().filter(|id| runs[id.index()]).partition(|&id| graph.op(id).phase == Phase::Update)
}

/// Which ops an output or an update depends on.
fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.ops().len()];
    let mut pending: Vec<ValueId> = graph.outputs().to_vec();
    for op in graph.ops().iter().filter(|op| !op.kind.updates().is_empty()) {
        pending.push(op.outputs[0]);
    }
    while let Some(value) = pending.pop() {
        let Source::Op(id) = graph.value(value).source else { continue };
        if !needed[id.index()] {
            needed[id.index()] = true;
            pending.extend(&graph.op(id).inputs);
        }
    }
    needed
}

/// Inserts each update behind the last op it has to wait for.
fn interleave(graph: &Graph, others: &[OpId], updates: &[OpId]) -> Vec<OpId> {
    // Behind how many of the others each op has run: a slot.
    let mut slots = vec![None; graph.ops().len()];
    for (index, op) in others.iter().enumerate() {
        slots[op.index()] = Some(index + 1);
    }
    let readers = readers(graph);
    // Ops of phase Update may depend on each other (a scaled gradient, then the update), always on earlier ones.
    let mut behind: Vec<Vec<OpId>> = vec![Vec::new(); others.len() + 1];
    for &update in updates {
        let op = graph.op(update);
        let producers = op.inputs.iter().filter_map(|&input| producer(graph, input));
        let overwritten = op.kind.updates().into_iter().map(|overwrite| op.inputs[overwrite.input]);
        let others_reading = overwritten.flat_map(|value| readers[value.index()].iter().copied());
        let waits_for = producers.chain(others_reading).filter(|&other| other != update);
        let slot = waits_for.filter_map(|op| slots[op.index()]).max().unwrap_or(0);
        slots[update.index()] = Some(slot);
        behind[slot].push(update);
    }
    let mut order = std::mem::take(&mut behind[0]);
    for (index, &op) in others.iter().enumerate() {
        order.push(op);
        order.append(&mut behind[index + 1]);
    }
    order
}

fn producer(graph: &Graph, value: ValueId) -> Option<OpId> {
    match graph.value(value).source {
        Source::Op(id) => Some(id),
        Source::Input | Source::Persistent(_) => None,
    }
}

/// For each value, the ops that read its storage: directly, or through views of it.
fn readers(graph: &Graph) -> Vec<Vec<OpId>> {
    let mut readers: Vec<Vec<OpId>> = vec![Vec::new(); graph.values().len()];
    for id in graph.op_ids().rev() {
        let op = graph.op(id);
        if op.kind.is_view() {
            let through_view = readers[op.outputs[0].index()].clone();
            readers[op.inputs[0].index()].extend(through_view);
        }
        for input in &op.inputs {
            readers[input.index()].push(id);
        }
    }
    readers
}
