//! A schedule written as a graph: ops in the order in which they run, those that run again as ops of their own.

use super::Problem;
use plimsoll_graph::{Graph, Op, OpId, Site, Source, ValueId};

/// A graph that computes the same as another, some of it twice.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The graph; its ops say which of them run again.
    pub graph: Graph,
}

impl Rewritten {
    /// A graph as it is.
    pub fn unchanged(graph: &Graph) -> Self {
        Self { graph: graph.clone() }
    }
}

/// Writes the runs of a schedule as a graph. Updates keep their order and stand at the end; the plan moves them where
/// they belong.
pub fn rewrite(graph: &Graph, problem: &Problem, runs: &[usize]) -> Rewritten {
    let mut writer = Writer::new(graph);
    let (updates, others): (Vec<usize>, Vec<usize>) =
        runs.iter().partition(|&&run| run >= problem.tasks.len());
    let mut has_run = vec![false; graph.ops().len()];
    for run in others {
        let id = problem.task(run).op;
        let again = std::mem::replace(&mut has_run[id.index()], true);
        writer.write(id, again);
    }
    let mut updates: Vec<OpId> = updates.into_iter().map(|run| problem.task(run).op).collect();
    updates.sort_unstable();
    updates.into_iter().for_each(|id| writer.write(id, false));
    for &output in graph.outputs() {
        let output = writer.latest(output);
        writer.written.graph.add_output(output);
    }
    writer.written
}

struct Writer<'a> {
    graph: &'a Graph,
    written: Rewritten,
    /// For each value of the other graph, what stands for it now.
    values: Vec<Option<ValueId>>,
    /// For each view of the old graph, what its newest copy looks at.
    looks_at: Vec<Option<ValueId>>,
}

impl<'a> Writer<'a> {
    /// Begins with the layers and everything that no op computes.
    fn new(graph: &'a Graph) -> Self {
        let mut new = Graph::new(graph.name());
        for layer in graph.layers() {
            new.add_layer(layer);
        }
        let mut values = vec![None; graph.values().len()];
        for id in graph.value_ids() {
            let value = graph.value(id).clone();
            let added = match value.source {
                Source::Op(_) => continue,
                Source::Input => new.add_input(value.name, value.tensor),
                Source::Persistent(init) => {
                    new.add_persistent(value.name, value.tensor, value.role, init, value.layer)
                }
            };
            values[id.index()] = Some(added.expect("the other graph has it"));
        }
        let looks_at = vec![None; values.len()];
        Self { graph, written: Rewritten { graph: new }, values, looks_at }
    }

    fn write(&mut self, id: OpId, again: bool) {
        let op = self.graph.op(id);
        let inputs: Vec<ValueId> = op.inputs.iter().map(|&input| self.latest(input)).collect();
        self.add(op, &inputs, again);
    }

    fn add(&mut self, op: &Op, inputs: &[ValueId], again: bool) {
        let site = Site { layer: op.layer, phase: op.phase };
        let new = &mut self.written.graph;
        let outputs = new.add_op(op.kind.clone(), inputs, site).expect("the types are the other graph's");
        for (&old, &output) in op.outputs.iter().zip(&outputs) {
            new.rename(output, self.graph.value(old).name.as_str());
            self.values[old.index()] = Some(output);
        }
        if again {
            new.mark_again();
        }
    }

    /// What stands for a value now. A view of something that was computed again is made again: it costs nothing.
    fn latest(&mut self, value: ValueId) -> ValueId {
        if let Source::Op(id) = self.graph.value(value).source {
            let op = self.graph.op(id);
            if op.kind.is_view() {
                let seen = self.latest(op.inputs[0]);
                let before = self.looks_at[value.index()].replace(seen);
                if before != Some(seen) {
                    self.add(op, &[seen], before.is_some());
                }
            }
        }
        self.values[value.index()].expect("a value is written before it is read")
    }
}
