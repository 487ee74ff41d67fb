//! The making of a sequence of runs: tasks in their order, and in front of each whatever it lacks. While the sequence
//! is made, each run is bound to the results it reads.

use super::Problem;
use super::lists::Lists;
use super::schedule::Gap;

/// No task, no turn, no run.
pub(super) const NEVER: u32 = u32::MAX;

/// Makes sequences for one problem; keeps its workspace from one to the next.
pub(super) struct Walk {
    /// For each task, the items it reads that do not live across steps, and those it writes.
    reads: Lists<u32>,
    outputs: Lists<u32>,
    costs: Vec<f64>,
    /// Where all items are at the beginning.
    beginning: Vec<Spot>,
    /// The items that are there from the beginning; their results are the first.
    given: Vec<u32>,
    /// Whether a task has an output that may take the place of an input.
    is_in_place: Vec<bool>,

    spots: Vec<Spot>,
    missing: Vec<u32>,
    again: Vec<u32>,
    wanted: Vec<bool>,
    /// Gaps whose items are computed early, with the task at whose turn, the first one last.
    early: Vec<(u32, usize)>,

    /// The tasks in their order.
    pub(super) runs: Vec<u32>,
    /// For each task, its last run.
    pub(super) last_run: Vec<u32>,
    /// For each result, the run that uses it last; results are numbered as they come to be.
    pub(super) last_use: Vec<u32>,
    /// For each run of a task that may work in place, the results it reads.
    pub(super) read: Vec<u32>,
    /// What those that run again cost.
    pub(super) extra: f64,
    /// For each task, whether it runs again.
    pub(super) is_again: Vec<bool>,
    /// For each gap, the first turn in which its item is computed again, and in which something that runs again reads
    /// it.
    pub(super) again_at: Vec<u32>,
    pub(super) reread_at: Vec<u32>,
}

/// Where an item is.
#[derive(Clone, Copy)]
struct Spot {
    /// The task up to whose turn it is there.
    until: u32,
    /// The gap it is in.
    gap: u32,
    /// The task that computes it.
    producer: u32,
    /// Its latest result.
    result: u32,
}

impl Walk {
    /// Gets ready, with the items that each task reads and the first gap of each item.
    pub(super) fn new(problem: &Problem, reads: &[Vec<usize>], first_gap: &[usize]) -> Self {
        let spot = |(item, &gap): (usize, &usize)| {
            let producer = problem.items[item].producer.map(|task| task as u32);
            let until = if producer.is_none() { NEVER } else { 0 };
            Spot { until, gap: gap as u32, producer: producer.unwrap_or(NEVER), result: NEVER }
        };
        let mut beginning: Vec<Spot> = first_gap.iter().enumerate().map(spot).collect();
        let given = (0..problem.items.len()).filter(|&item| problem.is_given(item));
        let given: Vec<u32> = given.map(|item| item as u32).collect();
        for (result, &item) in given.iter().enumerate() {
            beginning[item as usize].result = result as u32;
        }
        let tasks = || problem.tasks.iter();
        Self {
            reads: Lists::of_numbers(reads.iter().map(|items| items.iter().copied())),
            outputs: Lists::of_numbers(tasks().map(|task| task.outputs.iter().copied())),
            costs: tasks().map(|task| task.cost).collect(),
            is_in_place: tasks().map(|task| !task.in_place.is_empty()).collect(),
            spots: beginning.clone(),
            beginning,
            given,
            missing: Vec::new(),
            again: Vec::new(),
            wanted: vec![false; problem.tasks.len()],
            early: Vec::new(),
            runs: Vec::new(),
            last_run: vec![NEVER; problem.tasks.len()],
            last_use: Vec::new(),
            read: Vec::new(),
            extra: 0.0,
            is_again: Vec::new(),
            again_at: Vec::new(),
            reread_at: Vec::new(),
        }
    }

    /// Items that are there from the beginning.
    pub(super) fn given(&self) -> &[u32] {
        &self.given
    }

    /// The latest result of an item.
    pub(super) fn result(&self, item: u32) -> u32 {
        self.spots[item as usize].result
    }

    /// Makes the sequence of some decisions, with the tasks between which each gap lies and its item.
    pub(super) fn walk(&mut self, gaps: &[Gap], spans: &[(usize, usize)], item_of: &[usize]) {
        self.begin(gaps.len());
        self.note_early(gaps, spans);
        for task in 0..self.costs.len() {
            self.want_early(item_of, task as u32);
            self.compute_missing(task, gaps);
            self.run(task);
            for &item in self.reads.get(task) {
                let spot = &mut self.spots[item as usize];
                spot.gap += 1;
                if spot.producer != NEVER {
                    spot.until = gaps[spot.gap as usize].stays_until();
                }
            }
            for &item in self.outputs.get(task) {
                let spot = &mut self.spots[item as usize];
                spot.until = gaps[spot.gap as usize].stays_until();
            }
        }
    }

    fn begin(&mut self, gaps: usize) {
        self.spots.copy_from_slice(&self.beginning);
        self.is_again.clear();
        self.is_again.resize(self.costs.len(), false);
        for turns in [&mut self.again_at, &mut self.reread_at] {
            turns.clear();
            turns.resize(gaps, NEVER);
        }
        self.runs.clear();
        self.read.clear();
        self.last_use.clear();
        self.last_use.resize(self.given.len(), NEVER);
        self.extra = 0.0;
    }

    fn note_early(&mut self, gaps: &[Gap], spans: &[(usize, usize)]) {
        self.early.clear();
        for (gap, decision) in gaps.iter().enumerate() {
            if let Gap::Partly { from, early: true, .. } = *decision
                && from as usize > spans[gap].0
            {
                self.early.push((from, gap));
            }
        }
        self.early.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Wants what is to be computed at the turn of a task, if its gap is not over.
    fn want_early(&mut self, item_of: &[usize], turn: u32) {
        while let Some(&(from, gap)) = self.early.last().filter(|(from, _)| *from <= turn) {
            self.early.pop();
            let item = item_of[gap];
            let spot = self.spots[item];
            if from == turn && spot.gap as usize == gap && spot.until < turn {
                self.missing.push(item as u32);
            }
        }
    }

    /// Runs again whatever a task lacks, in the order of the tasks.
    fn compute_missing(&mut self, task: usize, gaps: &[Gap]) {
        let turn = task as u32;
        self.note_missing(task, turn);
        while let Some(item) = self.missing.pop() {
            let producer = self.spots[item as usize].producer;
            if producer != NEVER && !std::mem::replace(&mut self.wanted[producer as usize], true) {
                self.again.push(producer);
                self.note_missing(producer as usize, turn);
            }
        }
        if self.again.is_empty() {
            return;
        }
        let mut again = std::mem::take(&mut self.again);
        again.sort_unstable();
        again.drain(..).for_each(|task| self.run_again(task as usize, turn, gaps));
        self.again = again;
    }

    #[inline]
    fn note_missing(&mut self, task: usize, turn: u32) {
        for &item in self.reads.get(task) {
            if self.spots[item as usize].until < turn {
                self.missing.push(item);
            }
        }
    }

    fn run_again(&mut self, task: usize, turn: u32, gaps: &[Gap]) {
        self.wanted[task] = false;
        self.is_again[task] = true;
        self.extra += self.costs[task];
        self.run(task);
        for &item in self.reads.get(task) {
            let first = &mut self.reread_at[self.spots[item as usize].gap as usize];
            *first = turn.min(*first);
        }
        for &item in self.outputs.get(task) {
            let spot = &mut self.spots[item as usize];
            let first = &mut self.again_at[spot.gap as usize];
            *first = turn.min(*first);
            spot.until = gaps[spot.gap as usize].stays_again_until(turn);
        }
    }

    /// Adds a run, which reads the latest results.
    #[inline]
    fn run(&mut self, task: usize) {
        let run = self.runs.len() as u32;
        self.runs.push(task as u32);
        self.last_run[task] = run;
        let reads = self.reads.get(task);
        for &item in reads {
            self.last_use[self.spots[item as usize].result as usize] = run;
        }
        if self.is_in_place[task] {
            self.read.extend(reads.iter().map(|&item| self.spots[item as usize].result));
        }
        for &item in self.outputs.get(task) {
            self.spots[item as usize].result = self.last_use.len() as u32;
            self.last_use.push(run);
        }
    }
}
