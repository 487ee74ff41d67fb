//! What recomputation decides about: tasks that run in a fixed order, and the items they read and write.
//!
//! A graph becomes a problem by leaving out what plays no part: views are the item they look at, and updates are kept
//! apart, because they run behind everything that reads what they overwrite.

use super::floor;
use crate::{Options, Target, bytes_of, order};
use plimsoll_graph::{Graph, Op, OpId, Phase, Source, TensorType, ValueId};

/// Tasks in their order, and what they read and write.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// What runs once at least, in this order, each behind the producers of what it reads.
    pub tasks: Vec<Task>,
    /// The first task of the backward pass: what is read behind it was kept on purpose.
    pub turn: usize,
    /// Updates, in the order of the graph; each runs once, behind everything it has to wait for.
    pub updates: Vec<Task>,
    /// Whether an update runs as soon as it may, or all of them at the end.
    pub update_when_ready: bool,
    /// Everything that takes memory within a step, or that tasks read.
    pub items: Vec<Item>,
    /// Bytes that live across steps.
    pub persistent: u64,
}

/// One op of the graph.
#[derive(Clone, Debug)]
pub struct Task {
    /// The op; in problems that come from no graph, a number.
    pub op: OpId,
    /// Items it reads, one for each input of the op.
    pub inputs: Vec<usize>,
    /// Items it writes.
    pub outputs: Vec<usize>,
    /// What one run costs, in any unit.
    pub cost: f64,
    /// Scratch of its kernel.
    pub scratch: u64,
    /// Which outputs may take the place of which inputs, as positions; sizes are equal.
    pub in_place: Vec<(usize, usize)>,
    /// Persistent items that an update overwrites.
    pub overwrites: Vec<usize>,
}

/// One value, or several that are views of each other.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// Its size, rounded up to the alignment; 0 for what lives across steps and is counted there.
    pub bytes: u64,
    /// The task that writes it; `None` for what is there from the beginning, or comes from an update.
    pub producer: Option<usize>,
    /// Whether an update writes it.
    pub is_of_update: bool,
    /// Whether it must be there when the step is over.
    pub is_output: bool,
    /// Whether it lives across steps.
    pub is_persistent: bool,
}

impl Problem {
    /// The problem of one graph, with what each op costs by its number.
    pub fn of(graph: &Graph, costs: &[f64], target: &Target, options: Options) -> Self {
        let mut problem = Self { update_when_ready: options.update_when_ready, ..Self::default() };
        let item_of = problem.add_items(graph, target);
        let (updates, others) = order::updates_and_others(graph);
        for (ops, are_updates) in [(others, false), (updates, true)] {
            for id in ops.into_iter().filter(|&id| !graph.op(id).kind.is_view()) {
                let task = task(graph, id, costs[id.index()], target, options, &item_of);
                match are_updates {
                    true => problem.add_update(task),
                    false => problem.add_task(task),
                }
            }
        }
        let is_forward = |task: &&Task| graph.op(task.op).phase == Phase::Forward;
        problem.turn = problem.tasks.iter().take_while(is_forward).count();
        for output in graph.outputs() {
            problem.items[item_of[output.index()]].is_output = true;
        }
        problem
    }

    /// Adds a task behind those that are there.
    pub fn add_task(&mut self, task: Task) {
        for &output in &task.outputs {
            self.items[output].producer = Some(self.tasks.len());
        }
        self.tasks.push(task);
    }

    /// Adds an update behind those that are there.
    fn add_update(&mut self, update: Task) {
        update.outputs.iter().for_each(|&output| self.items[output].is_of_update = true);
        self.updates.push(update);
    }

    /// Whether an item is there from the beginning, and does not live across steps.
    pub(super) fn is_given(&self, item: usize) -> bool {
        let Item { producer, is_of_update, is_persistent, .. } = self.items[item];
        producer.is_none() && !is_of_update && !is_persistent
    }

    /// A task or an update; updates are numbered behind the tasks.
    pub fn task(&self, number: usize) -> &Task {
        match number.checked_sub(self.tasks.len()) {
            None => &self.tasks[number],
            Some(update) => &self.updates[update],
        }
    }

    /// What every task costs together.
    pub fn cost(&self) -> f64 {
        self.tasks.iter().chain(&self.updates).map(|task| task.cost).sum()
    }

    /// What no schedule can do without, whatever it computes again, beside what lives across steps (see `floor`).
    pub fn least(&self) -> u64 {
        self.persistent + floor::least(self)
    }

    /// Makes the items; gives each value's.
    fn add_items(&mut self, graph: &Graph, target: &Target) -> Vec<usize> {
        let mut item_of = Vec::with_capacity(graph.values().len());
        for id in graph.value_ids() {
            let value = graph.value(id);
            let producer = if let Source::Op(op) = value.source { Some(graph.op(op)) } else { None };
            if let Some(same) = producer.and_then(|op| same_storage(op, id)) {
                item_of.push(item_of[same.index()]);
                continue;
            }
            let bytes = bytes_of(&value.tensor).aligned(target.alignment).0;
            let is_persistent = value.role.is_persistent();
            self.persistent += if is_persistent { bytes } else { 0 };
            let bytes = if is_persistent { 0 } else { bytes };
            item_of.push(self.items.len());
            self.items.push(Item { bytes, is_persistent, ..Item::default() });
        }
        item_of
    }
}

/// The input whose storage an output is, whatever the plan.
fn same_storage(op: &Op, output: ValueId) -> Option<ValueId> {
    if op.kind.is_view() {
        return Some(op.inputs[0]);
    }
    let updates = op.kind.updates();
    let update = updates.iter().find(|update| op.outputs[update.output] == output);
    update.map(|update| op.inputs[update.input])
}

fn task(graph: &Graph, id: OpId, cost: f64, target: &Target, options: Options, item_of: &[usize]) -> Task {
    let op = graph.op(id);
    let types = |ids: &[ValueId]| ids.iter().map(|&id| graph.tensor(id).clone()).collect::<Vec<TensorType>>();
    let (inputs, outputs) = (types(&op.inputs), types(&op.outputs));
    let scratch = target.kernels.scratch(&op.kind, &inputs, &outputs).aligned(target.alignment).0;
    let overwrites: Vec<usize> =
        op.kind.updates().iter().map(|update| item_of[op.inputs[update.input].index()]).collect();
    let is_updated = |output: usize| op.kind.updates().iter().any(|update| update.output == output);
    let pairs = target.kernels.in_place(&op.kind).iter().copied().filter(|&(input, output)| {
        options.in_place && !is_updated(output) && bytes_of(&inputs[input]) == bytes_of(&outputs[output])
    });
    Task {
        op: id,
        inputs: op.inputs.iter().map(|value| item_of[value.index()]).collect(),
        outputs: (op.outputs.iter().enumerate())
            .filter(|&(index, _)| !is_updated(index))
            .map(|(_, value)| item_of[value.index()])
            .collect(),
        cost,
        scratch,
        in_place: pairs.collect(),
        overwrites,
    }
}
