//! From a schedule to its bytes: which result each run reads, how long each result lives, how much is live at each run.
//!
//! It comes to what `order`, `buffers` and `place::floor` make of the rewritten graph, a thousand times faster; tests
//! hold the two together.

use super::schedule::transient;
use super::{Problem, Task};

/// Who holds what when. Keeps its workspace from one schedule to the next.
pub struct Ledger {
    /// What never changes of each task; updates follow the tasks in number.
    entries: Vec<Entry>,
    tasks: usize,
    update_when_ready: bool,
    /// Sizes of all items.
    bytes: Vec<u64>,
    /// Items that are there from the beginning.
    given: Vec<usize>,
    outputs: Vec<usize>,
    persistent: u64,

    /// The runs, updates among them.
    runs: Vec<usize>,
    /// For each result, the run that uses it last.
    last_use: Vec<usize>,
    /// For each item, its latest result.
    latest: Vec<usize>,
    /// For each run and item it reads, the result.
    read: Vec<usize>,
    /// For each run, by how much the live bytes change.
    changes: Vec<i64>,
    /// For each item, one more than the run that wrote it last, and that read it last.
    written_at: Vec<usize>,
    read_at: Vec<usize>,
    /// For each run, the first update in front of it, and for each update the next one there.
    first_before: Vec<usize>,
    next_before: Vec<usize>,
}

/// What never changes of a task.
struct Entry {
    reads: Vec<usize>,
    outputs: Vec<usize>,
    scratch: u64,
    /// Which outputs may take whose place: positions among what it reads and writes.
    in_place: Vec<(usize, usize)>,
    /// For an update, the items whose old contents it wipes out; for another task, those of them that it reads.
    overwritten: Vec<usize>,
}

const NOBODY: usize = usize::MAX;

impl Ledger {
    pub fn new(problem: &Problem) -> Self {
        let mut is_overwritten = vec![false; problem.items.len()];
        for update in &problem.updates {
            update.overwrites.iter().for_each(|&item| is_overwritten[item] = true);
        }
        let all = problem.tasks.iter().chain(&problem.updates);
        let items_where =
            |wanted: &dyn Fn(usize) -> bool| (0..problem.items.len()).filter(|&item| wanted(item)).collect();
        Self {
            entries: all.map(|task| entry(problem, task, &is_overwritten)).collect(),
            tasks: problem.tasks.len(),
            update_when_ready: problem.update_when_ready,
            bytes: problem.items.iter().map(|item| item.bytes).collect(),
            given: items_where(&|item| {
                problem.items[item].producer.is_none() && !problem.items[item].is_persistent
            }),
            outputs: items_where(&|item| problem.items[item].is_output && !problem.items[item].is_persistent),
            persistent: problem.persistent,
            runs: Vec::new(),
            last_use: Vec::new(),
            latest: vec![NOBODY; problem.items.len()],
            read: Vec::new(),
            changes: Vec::new(),
            written_at: Vec::new(),
            read_at: Vec::new(),
            first_before: Vec::new(),
            next_before: vec![NOBODY; problem.updates.len()],
        }
    }

    /// Works out a sequence of tasks.
    pub fn enter(&mut self, runs: &[usize]) {
        self.insert_updates(runs);
        self.bind();
        self.add_up();
    }

    /// The runs, updates (numbered behind the tasks) among them.
    pub fn runs(&self) -> &[usize] {
        &self.runs
    }

    /// Bytes live at each run.
    pub fn live(&self) -> impl Iterator<Item = u64> + '_ {
        let mut live = self.persistent as i64;
        self.changes[..self.runs.len()].iter().map(move |change| {
            live += change;
            live as u64
        })
    }

    /// Puts each update behind the last run it has to wait for, those at one place in their order.
    fn insert_updates(&mut self, runs: &[usize]) {
        self.note_times(runs);
        self.first_before.clear();
        self.first_before.resize(runs.len() + 1, NOBODY);
        let mut slots = std::mem::take(&mut self.read);
        slots.clear();
        for entry in &self.entries[self.tasks..] {
            let made = entry.reads.iter().map(|&item| self.written_at[item]);
            let read = entry.overwritten.iter().map(|&item| self.read_at[item]);
            let slot = if self.update_when_ready { made.chain(read).max().unwrap_or(0) } else { runs.len() };
            entry.outputs.iter().for_each(|&item| self.written_at[item] = slot);
            slots.push(slot);
        }
        for (update, &slot) in slots.iter().enumerate().rev() {
            self.next_before[update] = std::mem::replace(&mut self.first_before[slot], update);
        }
        self.read = slots;
        self.runs.clear();
        for run in 0..=runs.len() {
            let mut update = self.first_before[run];
            while update != NOBODY {
                self.runs.push(self.tasks + update);
                update = self.next_before[update];
            }
            self.runs.extend(runs.get(run));
        }
    }

    fn note_times(&mut self, runs: &[usize]) {
        for times in [&mut self.written_at, &mut self.read_at] {
            times.clear();
            times.resize(self.bytes.len(), 0);
        }
        for (run, &task) in runs.iter().enumerate() {
            let entry = &self.entries[task];
            entry.overwritten.iter().for_each(|&item| self.read_at[item] = run + 1);
            entry.outputs.iter().for_each(|&item| self.written_at[item] = run + 1);
        }
    }

    /// Finds which result each run reads, and each result's last use. Results are numbered as they come to be.
    fn bind(&mut self) {
        self.last_use.clear();
        self.read.clear();
        for &item in &self.given {
            self.latest[item] = self.last_use.len();
            self.last_use.push(0);
        }
        for (run, &task) in self.runs.iter().enumerate() {
            let entry = &self.entries[task];
            for &item in &entry.reads {
                let result = self.latest[item];
                self.last_use[result] = run;
                self.read.push(result);
            }
            for &item in &entry.outputs {
                self.latest[item] = self.last_use.len();
                self.last_use.push(run);
            }
        }
        for &item in &self.outputs {
            self.last_use[self.latest[item]] = self.runs.len();
        }
    }

    fn add_up(&mut self) {
        self.changes.clear();
        self.changes.resize(self.runs.len() + 2, 0);
        let mut result = 0;
        for index in 0..self.given.len() {
            self.take(0, result, self.bytes[self.given[index]]);
            result += 1;
        }
        let mut read = 0;
        for run in 0..self.runs.len() {
            let task = self.runs[run];
            self.changes[run] += self.entries[task].scratch as i64;
            self.changes[run + 1] -= self.entries[task].scratch as i64;
            let mut taken = 0;
            for output in 0..self.entries[task].outputs.len() {
                let place = self.place_for(run, output, read, taken);
                taken |= place.map_or(0, |input| 1 << input);
                let bytes = self.bytes[self.entries[task].outputs[output]];
                // In the run itself the bytes are counted for the input whose place it takes.
                self.take(run + usize::from(place.is_some()), result, bytes);
                result += 1;
            }
            read += self.entries[task].reads.len();
        }
    }

    /// Counts bytes from a run to the last use of a result.
    fn take(&mut self, begin: usize, result: usize, bytes: u64) {
        let end = (self.last_use[result] + 1).min(self.runs.len());
        self.changes[begin] += bytes as i64;
        self.changes[end.max(begin)] -= bytes as i64;
    }

    /// The position of an input whose place an output takes: nobody reads it any more, and no other output has taken
    /// its place.
    fn place_for(&self, run: usize, output: usize, read: usize, taken: u64) -> Option<usize> {
        let entry = &self.entries[self.runs[run]];
        let free = |input: usize| taken & (1 << input) == 0 && self.last_use[self.read[read + input]] == run;
        entry.in_place.iter().find(|&&(input, other)| other == output && free(input)).map(|&(input, _)| input)
    }
}

fn entry(problem: &Problem, task: &Task, is_overwritten: &[bool]) -> Entry {
    let reads = transient(problem, task);
    // Only what an op reads once, and what does not live across steps, can be overwritten.
    let position = |input: usize| {
        let item = task.inputs[input];
        let is_read_once = task.inputs.iter().filter(|&&other| other == item).count() == 1;
        reads.iter().position(|&other| other == item && is_read_once).filter(|&position| position < 64)
    };
    let pairs = task.in_place.iter().filter_map(|&(input, output)| Some((position(input)?, output)));
    let overwritten = match task.overwrites.is_empty() {
        true => task.inputs.iter().copied().filter(|&item| is_overwritten[item]).collect(),
        false => task.overwrites.clone(),
    };
    Entry {
        in_place: pairs.collect(),
        reads,
        outputs: task.outputs.clone(),
        scratch: task.scratch,
        overwritten,
    }
}
