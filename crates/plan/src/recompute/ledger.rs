//! From a sequence of runs to its bytes: where updates come in, how long each result lives, how much is live at each
//! run.
//!
//! It comes to what `order`, `buffers` and `place::floor` make of the rewritten graph, a thousand times faster; tests
//! hold the two together.

use super::lists::Lists;
use super::schedule::transient;
use super::walk::{NEVER, Walk};
use super::{Problem, Task};

/// Who holds what when. Keeps its workspace from one schedule to the next.
pub(super) struct Ledger {
    /// For each task, the items it writes and its scratch; updates follow the tasks in number.
    outputs: Lists<u32>,
    scratch: Vec<u64>,
    /// Which outputs may take whose place: positions among what a task reads and writes.
    in_place: Lists<(u32, u32)>,
    /// How many items each task reads that may work in place, for the others none.
    reads: Vec<u32>,
    updates: Updates,
    /// Sizes of all items.
    bytes: Vec<u64>,
    /// Items that must be there when the step is over.
    kept: Vec<u32>,
    persistent: u64,

    /// For each run of a task, where it is among all runs.
    at: Vec<u32>,
    /// For each result, the run that uses it last.
    last_use: Vec<u32>,
    /// For each item, its latest result by an update.
    latest: Vec<u32>,
    /// For each run of an update that may work in place, the results it reads.
    read: Vec<u32>,
    /// For each run, by how much the live bytes change.
    changes: Vec<i64>,
}

/// What never changes of updates, and their places.
struct Updates {
    when_ready: bool,
    /// For each update, the tasks it has to wait for and the updates.
    tasks: Lists<u32>,
    updates: Lists<u32>,
    /// For each update, the items it reads.
    reads: Lists<u32>,
    /// For each update, how many runs of tasks are in front of it.
    slots: Vec<u32>,
    /// The updates as they run.
    order: Vec<u32>,
}

impl Ledger {
    pub(super) fn new(problem: &Problem) -> Self {
        let all = || problem.tasks.iter().chain(&problem.updates);
        let in_place = Lists::new(all().map(|task| places(problem, task)));
        let kept = (0..problem.items.len() as u32).filter(|&item| {
            let facts = &problem.items[item as usize];
            facts.is_output && !facts.is_persistent
        });
        let reads = all().map(|task| match task.in_place.is_empty() {
            true => 0,
            false => transient(problem, task).len() as u32,
        });
        Self {
            outputs: Lists::of_numbers(all().map(|task| task.outputs.iter().copied())),
            scratch: all().map(|task| task.scratch).collect(),
            in_place,
            reads: reads.collect(),
            updates: Updates::new(problem),
            bytes: problem.items.iter().map(|item| item.bytes).collect(),
            kept: kept.collect(),
            persistent: problem.persistent,
            at: Vec::new(),
            last_use: Vec::new(),
            latest: vec![NEVER; problem.items.len()],
            read: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Works out a sequence of tasks.
    pub(super) fn enter(&mut self, walk: &Walk) {
        self.updates.place(walk, &mut self.at);
        self.bind(walk);
        self.add_up(walk);
    }

    /// How many runs there are, updates among them.
    fn len(&self) -> usize {
        self.at.len() + self.updates.order.len()
    }

    /// The runs, updates (numbered behind the tasks) among them.
    pub(super) fn runs(&self, walk: &Walk) -> Vec<usize> {
        let tasks = walk.last_run.len();
        let mut runs = vec![0; self.len()];
        self.at.iter().zip(&walk.runs).for_each(|(&at, &task)| runs[at as usize] = task as usize);
        for (rank, &update) in self.updates.order.iter().enumerate() {
            runs[self.updates.slots[update as usize] as usize + rank] = tasks + update as usize;
        }
        runs
    }

    /// Bytes live at each run.
    pub(super) fn live(&self) -> impl Iterator<Item = u64> + '_ {
        let mut live = self.persistent as i64;
        self.changes[..self.len()].iter().map(move |change| {
            live += change;
            live as u64
        })
    }

    /// Finds the last use of each result, by tasks and by updates, which read what was computed last.
    fn bind(&mut self, walk: &Walk) {
        let at = &self.at;
        // What is there and never read is gone after the first run.
        let place = |&run: &u32| at.get(run as usize).copied().unwrap_or(0);
        self.last_use.clear();
        self.last_use.extend(walk.last_use.iter().map(place));
        self.read.clear();
        for (rank, &update) in self.updates.order.iter().enumerate() {
            let run = self.updates.slots[update as usize] + rank as u32;
            let task = walk.last_run.len() + update as usize;
            for &item in self.updates.reads.get(update as usize) {
                let result = latest(&self.latest, walk, item);
                let last = &mut self.last_use[result as usize];
                *last = run.max(*last);
                if self.reads[task] > 0 {
                    self.read.push(result);
                }
            }
            for &item in self.outputs.get(task) {
                self.latest[item as usize] = self.last_use.len() as u32;
                self.last_use.push(run);
            }
        }
        let end = self.len() as u32;
        for &item in &self.kept {
            self.last_use[latest(&self.latest, walk, item) as usize] = end;
        }
    }

    fn add_up(&mut self, walk: &Walk) {
        self.changes.clear();
        self.changes.resize(self.len() + 2, 0);
        let mut cursor = Cursor::default();
        for &item in walk.given() {
            self.take(0, cursor.result, self.bytes[item as usize]);
            cursor.result += 1;
        }
        for (run, &task) in walk.runs.iter().enumerate() {
            self.enter_run(self.at[run], task as usize, &walk.read, &mut cursor);
        }
        cursor.read = 0;
        let read = std::mem::take(&mut self.read);
        for rank in 0..self.updates.order.len() {
            let update = self.updates.order[rank] as usize;
            let run = self.updates.slots[update] + rank as u32;
            self.enter_run(run, walk.last_run.len() + update, &read, &mut cursor);
        }
        self.read = read;
    }

    /// Counts what a run takes for itself, and its results.
    #[inline]
    fn enter_run(&mut self, run: u32, task: usize, read: &[u32], cursor: &mut Cursor) {
        let scratch = self.scratch[task] as i64;
        self.changes[run as usize] += scratch;
        self.changes[run as usize + 1] -= scratch;
        let pairs = self.in_place.get(task);
        let mut taken = 0;
        for (output, &item) in self.outputs.get(task).iter().enumerate() {
            // Nobody reads the input any more, and no other output has taken its place.
            let is_free = |input: u32| {
                taken & (1u64 << input) == 0
                    && self.last_use[read[cursor.read + input as usize] as usize] == run
            };
            let place = pairs.iter().find(|&&(input, other)| other as usize == output && is_free(input));
            taken |= place.map_or(0, |&(input, _)| 1 << input);
            let bytes = self.bytes[item as usize] as i64;
            // In the run itself the bytes are counted for the input whose place it takes.
            let begin = run + u32::from(place.is_some());
            let end = (self.last_use[cursor.result] + 1).min(self.changes.len() as u32 - 2);
            self.changes[begin as usize] += bytes;
            self.changes[end.max(begin) as usize] -= bytes;
            cursor.result += 1;
        }
        cursor.read += self.reads[task] as usize;
    }

    /// Counts bytes from a run to the last use of a result.
    fn take(&mut self, begin: u32, result: usize, bytes: u64) {
        let end = (self.last_use[result] + 1).min(self.changes.len() as u32 - 2);
        self.changes[begin as usize] += bytes as i64;
        self.changes[end.max(begin) as usize] -= bytes as i64;
    }
}

/// How far the results, and what is read of them, are counted.
#[derive(Default)]
struct Cursor {
    result: usize,
    read: usize,
}

/// The latest result of an item: by an update, where there is one that computes it.
fn latest(by_updates: &[u32], walk: &Walk, item: u32) -> u32 {
    match by_updates[item as usize] {
        NEVER => walk.result(item),
        result => result,
    }
}

impl Updates {
    fn new(problem: &Problem) -> Self {
        let updates = || problem.updates.iter();
        let mut readers = vec![Vec::new(); problem.items.len()];
        for (number, task) in problem.tasks.iter().enumerate() {
            task.inputs.iter().for_each(|&item| readers[item].push(number));
        }
        let tasks = updates().map(|update| {
            let producers =
                transient(problem, update).into_iter().filter_map(|item| problem.items[item].producer);
            producers.chain(update.overwrites.iter().flat_map(|&item| readers[item].iter().copied()))
        });
        let mut computed_by = vec![None; problem.items.len()];
        let mut others = Vec::new();
        for (number, update) in updates().enumerate() {
            others.push(
                transient(problem, update)
                    .into_iter()
                    .filter_map(|item| computed_by[item])
                    .collect::<Vec<_>>(),
            );
            update.outputs.iter().for_each(|&item| computed_by[item] = Some(number));
        }
        Self {
            when_ready: problem.update_when_ready,
            tasks: Lists::of_numbers(tasks.collect::<Vec<_>>()),
            updates: Lists::of_numbers(others),
            reads: Lists::of_numbers(updates().map(|update| transient(problem, update))),
            slots: vec![0; problem.updates.len()],
            order: vec![0; problem.updates.len()],
        }
    }

    /// Puts each update behind the last run it has to wait for, those at one place in their order; tells each run of a
    /// task where it is.
    fn place(&mut self, walk: &Walk, at: &mut Vec<u32>) {
        let runs = walk.runs.len();
        // First how many updates are in front of each run, and behind the last one; then those of all runs before, too.
        at.clear();
        at.resize(runs + 1, 0);
        for update in 0..self.slots.len() {
            let after_tasks = self.tasks.get(update).iter().map(|&task| walk.last_run[task as usize] + 1);
            let with_updates = self.updates.get(update).iter().map(|&other| self.slots[other as usize]);
            let slot = after_tasks.chain(with_updates).max().unwrap_or(0);
            self.slots[update] = if self.when_ready { slot } else { runs as u32 };
            at[self.slots[update] as usize] += 1;
        }
        let mut before = 0;
        for count in at.iter_mut() {
            before += std::mem::replace(count, before);
        }
        for (update, &slot) in self.slots.iter().enumerate() {
            let rank = &mut at[slot as usize];
            self.order[*rank as usize] = update as u32;
            *rank += 1;
        }
        at.pop();
        at.iter_mut().enumerate().for_each(|(run, place)| *place += run as u32);
    }
}

/// Which outputs of a task may take whose place. Only what it reads once, and what does not live across steps, can be
/// overwritten.
fn places(problem: &Problem, task: &Task) -> Vec<(u32, u32)> {
    if task.in_place.is_empty() {
        return Vec::new();
    }
    let reads = transient(problem, task);
    let position = |input: usize| {
        let item = task.inputs[input];
        let is_read_once = task.inputs.iter().filter(|&&other| other == item).count() == 1;
        reads.iter().position(|&other| other == item && is_read_once).filter(|&position| position < 64)
    };
    let pair = |&(input, output): &(usize, usize)| Some((position(input)? as u32, output as u32));
    task.in_place.iter().filter_map(pair).collect()
}
