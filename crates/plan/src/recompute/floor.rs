//! What no schedule can do without, whatever it computes again.
//!
//! A task needs what it reads all at once. Of these items one was computed last, when the others were there already: so
//! its own task needed what it reads beside them. That goes on backwards, and at each step the schedule may have chosen
//! which item came last. The way back on which the most bytes at once are fewest bounds every schedule. It is looked
//! for with the smallest first, so that wherever the search stops, what it has reached is a bound.

use super::{Problem, Task};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

/// From how many tasks the way back is followed, and over how many steps each: from some a little, and from those that
/// came to most then, far.
const NEAR: (usize, usize) = (24, 100);
const FAR: (usize, usize) = (6, 400);

/// Of tasks that need the same by themselves, so many are followed: they are the same part of many layers.
const ALIKE: usize = 2;

/// How many of the items that are there from the beginning are followed to their last use.
const GIVEN: usize = 8;

/// A lower bound of the bytes live at once within a step, beside what lives across steps.
pub(super) fn least(problem: &Problem) -> u64 {
    let bytes = |wanted: &dyn Fn(usize) -> bool| -> u64 {
        (0..problem.items.len()).filter(|&item| wanted(item)).map(|item| problem.items[item].bytes).sum()
    };
    let given = bytes(&|item| problem.is_given(item));
    let outputs = bytes(&|item| problem.items[item].is_output);
    let ways = Ways::new(problem);
    let mut roots: Vec<(u64, usize)> =
        (0..problem.tasks.len() + problem.updates.len()).map(|root| (ways.least(root, 1), root)).collect();
    roots.sort_by_key(|&(least, root)| (Reverse(least), root));
    let shallow = roots.first().map_or(0, |&(least, _)| least);
    let mut alike: BTreeMap<u64, usize> = BTreeMap::new();
    roots.retain(|(least, _)| {
        let count = alike.entry(*least).or_default();
        *count += 1;
        *count <= ALIKE
    });
    let mut deep = shallow;
    for (count, steps) in [NEAR, FAR] {
        roots.truncate(count);
        roots.iter_mut().for_each(|(least, root)| *least = ways.least(*root, steps));
        roots.sort_by_key(|&(least, root)| (Reverse(least), root));
        deep = roots.first().map_or(deep, |&(least, _)| deep.max(least));
    }
    given.max(outputs).max(deep)
}

/// Items that are live at one moment, in their order.
type Items = Vec<usize>;

struct Ways<'a> {
    problem: &'a Problem,
    /// For large items that are there from the beginning, which tasks run before their last use.
    given: Vec<(usize, Vec<bool>)>,
}

impl<'a> Ways<'a> {
    fn new(problem: &'a Problem) -> Self {
        let is_given = |&item: &usize| problem.is_given(item) && problem.items[item].bytes > 0;
        let mut given: Vec<usize> = (0..problem.items.len()).filter(is_given).collect();
        given.sort_by_key(|&item| (Reverse(problem.items[item].bytes), item));
        given.truncate(GIVEN);
        Self { problem, given: given.into_iter().map(|item| (item, before(problem, item))).collect() }
    }

    /// What the first run of a task and the way to it take at least.
    fn least(&self, root: usize, steps: usize) -> u64 {
        // Whoever reads these runs later, and nobody can compute them again.
        let waiting: Items =
            self.given.iter().filter(|(_, before)| before[root]).map(|&(item, _)| item).collect();
        let (live, first) = self.run(self.problem.task(root), waiting);
        // What another update computed may have come last, and the way back from there is not followed.
        if steps <= 1 || live.iter().any(|&item| self.problem.items[item].is_of_update) {
            return first;
        }
        let mut open = BinaryHeap::from([(Reverse(first), live)]);
        let (mut passed, mut reached) = (HashSet::new(), first);
        while passed.len() < steps {
            let Some((Reverse(most), live)) = open.pop() else { break };
            if passed.contains(&live) {
                continue;
            }
            reached = most;
            let mut producers: Vec<usize> =
                live.iter().filter_map(|&item| self.problem.items[item].producer).collect();
            producers.sort_unstable();
            producers.dedup();
            if producers.is_empty() {
                break;
            }
            for producer in producers {
                let (before, needed) = self.step_back(producer, &live);
                if !passed.contains(&before) {
                    open.push((Reverse(most.max(needed)), before));
                }
            }
            passed.insert(live);
        }
        reached
    }

    /// What is live in front of a task whose results are the newest of what is live behind it; and what it takes.
    fn step_back(&self, producer: usize, live: &Items) -> (Items, u64) {
        let task = &self.problem.tasks[producer];
        self.run(task, live.iter().copied().filter(|item| !task.outputs.contains(item)).collect())
    }

    /// What is live in front of a run beside items that stay; and what the run takes, if every output takes the place
    /// of an input wherever it may.
    fn run(&self, task: &Task, kept: Items) -> (Items, u64) {
        let bytes = |item: usize| self.problem.items[item].bytes;
        let takes_place = |output: usize| {
            let mut pairs = task.in_place.iter().filter(|&&(_, other)| other == output);
            pairs.any(|&(input, _)| !kept.contains(&task.inputs[input]))
        };
        let outputs = (0..task.outputs.len()).filter(|&output| !takes_place(output));
        let written: u64 = outputs.map(|output| bytes(task.outputs[output])).sum();
        let mut before = kept;
        before.extend(task.inputs.iter().copied().filter(|&item| bytes(item) > 0));
        before.sort_unstable();
        before.dedup();
        let read: u64 = before.iter().map(|&item| bytes(item)).sum();
        (before, read + written + task.scratch)
    }
}

/// Which tasks an item's readers depend on, these among them.
fn before(problem: &Problem, item: usize) -> Vec<bool> {
    let count = problem.tasks.len() + problem.updates.len();
    let mut before = vec![false; count];
    let mut pending: Vec<usize> =
        (0..count).filter(|&task| problem.task(task).inputs.contains(&item)).collect();
    while let Some(task) = pending.pop() {
        if !std::mem::replace(&mut before[task], true) {
            pending
                .extend(problem.task(task).inputs.iter().filter_map(|&input| problem.items[input].producer));
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recompute::Item;
    use plimsoll_graph::OpId;

    fn task(inputs: &[usize], output: usize) -> Task {
        Task {
            op: OpId(output as u32),
            inputs: inputs.to_vec(),
            outputs: vec![output],
            cost: 1.0,
            scratch: 0,
            in_place: Vec::new(),
            overwrites: Vec::new(),
        }
    }

    #[test]
    fn what_is_needed_together_was_computed_one_after_another() {
        // A small x becomes two large items on ways of their own, and both of these a small one. Whichever large item
        // comes last is computed from something large beside the other one.
        let sizes = [1, 10, 10, 10, 10, 1];
        let items = sizes.map(|bytes| Item { bytes, ..Item::default() }).to_vec();
        let mut problem = Problem { turn: 5, items, ..Problem::default() };
        for (inputs, output) in [(&[0][..], 1), (&[1], 2), (&[0], 3), (&[3], 4), (&[2, 4], 5)] {
            problem.add_task(task(inputs, output));
        }
        // The last task alone would take 21.
        assert_eq!(least(&problem), 30);
    }

    #[test]
    fn what_was_given_stays_until_it_is_read_for_the_last_time() {
        let sizes = [7, 10, 10, 1];
        let items = sizes.map(|bytes| Item { bytes, ..Item::default() }).to_vec();
        let mut problem = Problem { turn: 3, items, ..Problem::default() };
        for (inputs, output) in [(&[0][..], 1), (&[1], 2), (&[0, 2], 3)] {
            problem.add_task(task(inputs, output));
        }
        assert_eq!(least(&problem), 27);
    }
}
