//! Where the memory goes: by role, by layer, and who is live at the worst step.

use crate::Plan;
use crate::predict::labels;
use plimsoll_graph::{Graph, Role};
use plimsoll_trace::{Bytes, shown};
use std::collections::BTreeMap;

/// A plan's memory at its worst step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The first step at which as many bytes are live as at any.
    pub worst_step: u32,
    /// The op that runs then.
    pub worst_op: String,
    /// The layer it belongs to.
    pub worst_layer: String,
    /// Live bytes then, by role; they add up to the plan's floor.
    pub by_role: BTreeMap<Role, Bytes>,
    /// Live bytes then, by layer, largest first; `""` is what belongs to no layer.
    pub by_layer: Vec<(String, Bytes)>,
    /// What is live then, largest first.
    pub live: Vec<Holding>,
    /// The most bytes live during each step.
    pub timeline: Vec<Bytes>,
}

/// A buffer that is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The value, such as `conv1/conv2d`.
    pub value: String,
    /// Whether it was computed before.
    pub again: bool,
    /// Its layer, or nothing.
    pub layer: String,
    /// Why it exists.
    pub role: Role,
    /// How large it is.
    pub bytes: Bytes,
}

impl Holding {
    /// The value as people read it.
    pub fn shown(&self) -> String {
        shown(&self.value, self.again)
    }
}

/// Adds up a plan's memory at its worst step.
pub fn usage(graph: &Graph, plan: &Plan) -> Usage {
    let timeline = timeline(plan);
    let most = timeline.iter().copied().max().unwrap_or_default();
    let worst_step = timeline.iter().position(|&live| live == most).unwrap_or(0) as u32;
    let labels = labels(graph, plan);
    let mut live: Vec<Holding> = plan
        .buffers
        .iter()
        .zip(labels)
        .filter(|(buffer, _)| buffer.live.contains(&worst_step))
        .map(|(buffer, label)| Holding {
            value: label.value,
            again: label.again,
            layer: label.layer,
            role: buffer.role,
            bytes: buffer.bytes,
        })
        .collect();
    // A stable sort: equal sizes stay in the order of the plan.
    live.sort_by_key(|holding| std::cmp::Reverse(holding.bytes));
    let mut by_role: BTreeMap<Role, Bytes> = BTreeMap::new();
    let mut by_layer: BTreeMap<&str, Bytes> = BTreeMap::new();
    for holding in &live {
        *by_role.entry(holding.role).or_default() += holding.bytes;
        *by_layer.entry(&holding.layer).or_default() += holding.bytes;
    }
    let mut by_layer: Vec<(String, Bytes)> =
        by_layer.into_iter().map(|(layer, bytes)| (layer.to_string(), bytes)).collect();
    by_layer.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let worst = plan.order.get(worst_step as usize).map(|&id| graph.op(id));
    let layer = worst.and_then(|op| op.layer).map(|layer| graph.layer_name(layer).to_string());
    Usage {
        worst_step,
        worst_op: worst.map_or(String::new(), |op| op.kind.name().to_string()),
        worst_layer: layer.unwrap_or_default(),
        by_role,
        by_layer,
        live,
        timeline,
    }
}

/// Live bytes at each step, by adding what begins and taking away what has ended.
fn timeline(plan: &Plan) -> Vec<Bytes> {
    let mut begins = vec![Bytes::ZERO; plan.order.len() + 1];
    let mut ends = vec![Bytes::ZERO; plan.order.len() + 1];
    for buffer in &plan.buffers {
        begins[buffer.live.start as usize] += buffer.bytes;
        ends[(buffer.live.end as usize).min(plan.order.len())] += buffer.bytes;
    }
    let mut live = Bytes::ZERO;
    (0..plan.order.len())
        .map(|step| {
            live = live + begins[step] - ends[step];
            live
        })
        .collect()
}
