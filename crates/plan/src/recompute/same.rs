//! The proof that a rewritten graph computes what the other one does.
//!
//! This knows nothing of schedules. It walks over the rewritten graph and finds for each op the op of the other graph
//! that it repeats: the same kind, on values that stand for the same inputs. Whatever matches nothing is a difference.

use plimsoll_graph::{Graph, Op, OpId, Source, ValueId};
use std::collections::HashMap;

/// Where a rewritten graph does something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum Difference {
    #[error("op {} of the rewritten graph computes nothing that the other one does", .op.0)]
    Foreign { op: OpId },
    #[error("op {} of the other graph updates something and runs {times} times", .op.0)]
    Updates { op: OpId, times: usize },
    #[error("an input or persistent value is {here}, in the rewritten graph {there}")]
    Given { here: String, there: String },
    #[error("op {} of the rewritten graph is said to run again, but nothing before it does the same", .op.0)]
    NotAgain { op: OpId },
    #[error("the outputs stand for other values")]
    Outputs,
}

/// Proves that a rewritten graph computes the same outputs and updates. Gives for each value of the graph the latest
/// that stands for it; `None` for what the rewritten graph does not compute.
pub fn verify_same(graph: &Graph, new: &Graph) -> Result<Vec<Option<ValueId>>, Difference> {
    let mut classes = Classes::of(graph);
    let mut class_of = given(graph, new)?;
    for id in new.op_ids() {
        let op = new.op(id);
        let inputs: Vec<ValueId> = op.inputs.iter().map(|input| class_of[input]).collect();
        let first = classes.find(graph, op, &inputs).ok_or(Difference::Foreign { op: id })?;
        let times = classes.times.entry(first).or_default();
        if op.again && *times == 0 {
            return Err(Difference::NotAgain { op: id });
        }
        *times += 1;
        class_of.extend(op.outputs.iter().copied().zip(graph.op(first).outputs.iter().copied()));
    }
    for id in graph.op_ids().filter(|&id| !graph.op(id).kind.updates().is_empty()) {
        let times = classes.times.get(&id).copied().unwrap_or(0);
        if times != 1 {
            return Err(Difference::Updates { op: id, times });
        }
    }
    let found: Vec<ValueId> = new.outputs().iter().map(|output| class_of[output]).collect();
    let wanted: Vec<ValueId> = graph.outputs().iter().map(|&output| classes.of[output.index()]).collect();
    if found != wanted {
        return Err(Difference::Outputs);
    }
    let mut latest: HashMap<ValueId, ValueId> = HashMap::new();
    for id in new.value_ids() {
        latest.insert(class_of[&id], id);
    }
    Ok(classes.of.iter().map(|class| latest.get(class).copied()).collect())
}

/// Values of a graph that are computed the same way, under the name of the first of them.
struct Classes {
    /// For each value, the first of its class.
    of: Vec<ValueId>,
    /// The first op of each class, by what it reads.
    firsts: HashMap<Vec<ValueId>, Vec<OpId>>,
    /// How often each class is computed in the rewritten graph.
    times: HashMap<OpId, usize>,
}

impl Classes {
    fn of(graph: &Graph) -> Self {
        let of = graph.value_ids().collect();
        let mut classes = Self { of, firsts: HashMap::new(), times: HashMap::new() };
        for id in graph.op_ids() {
            let op = graph.op(id);
            let inputs: Vec<ValueId> = op.inputs.iter().map(|input| classes.of[input.index()]).collect();
            match classes.find(graph, op, &inputs) {
                None => classes.firsts.entry(inputs).or_default().push(id),
                Some(first) => {
                    for (output, &same) in op.outputs.iter().zip(&graph.op(first).outputs) {
                        classes.of[output.index()] = same;
                    }
                }
            }
        }
        classes
    }

    /// The first op of a graph that does the same to the same values.
    fn find(&self, graph: &Graph, op: &Op, inputs: &[ValueId]) -> Option<OpId> {
        let same = |&&first: &&OpId| {
            let other = graph.op(first);
            (&other.kind, other.phase) == (&op.kind, op.phase)
        };
        self.firsts.get(inputs)?.iter().find(same).copied()
    }
}

/// Inputs and persistent values stand for those of the same name and type.
fn given(graph: &Graph, new: &Graph) -> Result<HashMap<ValueId, ValueId>, Difference> {
    let ids = |graph: &Graph| {
        let given = graph.value_ids().filter(|&id| !matches!(graph.value(id).source, Source::Op(_)));
        given.collect::<Vec<_>>()
    };
    let (old, new_ids) = (ids(graph), ids(new));
    let describe = |graph: &Graph, id: Option<&ValueId>| match id.map(|&id| graph.value(id)) {
        Some(value) => format!("{} `{}` {}", value.role, value.name, value.tensor),
        None => "missing".to_string(),
    };
    let differ = |position: &usize| match (old.get(*position), new_ids.get(*position)) {
        (Some(&a), Some(&b)) => graph.value(a) != new.value(b),
        _ => true,
    };
    match (0..old.len().max(new_ids.len())).find(differ) {
        None => Ok(new_ids.into_iter().zip(old).collect()),
        Some(position) => Err(Difference::Given {
            here: describe(graph, old.get(position)),
            there: describe(new, new_ids.get(position)),
        }),
    }
}
