//! The proof that a rewritten graph computes what the other one does.
//!
//! This knows nothing of schedules. It walks over the rewritten graph and finds for each op the op of the other graph that it repeats: the same
//! kind, on values that stand for the same inputs. Whatever matches nothing is a difference.

use super::Rewritten;
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
    #[error("`{name}` is an input or persistent value of only one of the graphs, or a different one")]
    Given { name: String },
    #[error("the outputs stand for other values")]
    Outputs,
}

/// Proves that a rewritten graph computes the same outputs and updates.
pub fn verify_same(graph: &Graph, rewritten: &Rewritten) -> Result<(), Difference> {
    let new = &rewritten.graph;
    let mut classes = Classes::of(graph);
    let mut class_of = given(graph, new)?;
    for id in new.op_ids() {
        let op = new.op(id);
        let inputs: Vec<ValueId> = op.inputs.iter().map(|input| class_of[input]).collect();
        let first = classes.find(graph, op, &inputs).ok_or(Difference::Foreign { op: id })?;
        *classes.times.entry(first).or_default() += 1;
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
    if found == wanted { Ok(()) } else { Err(Difference::Outputs) }
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
    for (&a, &b) in old.iter().zip(&new_ids) {
        if graph.value(a) != new.value(b) {
            return Err(Difference::Given { name: graph.value(a).name.clone() });
        }
    }
    match old.len() == new_ids.len() {
        true => Ok(new_ids.into_iter().zip(old).collect()),
        false => Err(Difference::Given { name: new.name().to_string() }),
    }
}
