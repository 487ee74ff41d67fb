//! From decisions about gaps to a schedule.
//!
//! A gap is the time between two uses of an item: from its production to its first use, from each use to the next, and
//! from the last one on. For each gap a [`Gap`] says what happens to the item there. Whatever is missing when a task
//! needs it is computed again right before, with everything that takes. A task reads the latest result of each item, so
//! the sequence of tasks says everything.

use super::ledger::Ledger;
use super::walk::{NEVER, Walk};
use super::{Problem, Task};

/// What happens to an item between two uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gap {
    /// It stays in memory.
    Held,
    /// It is dropped; once something needs it again, it is computed and stays until the gap is over.
    Once,
    /// It is dropped and computed again each time something needs it.
    Fleeting,
    /// It stays up to the turn of one task, then is fleeting, and from the turn of another task on stays once it is
    /// computed.
    Partly {
        /// The last task up to whose turn it stays.
        until: u32,
        /// The first task from whose turn on it stays again.
        from: u32,
        /// Whether it is computed at that turn, though nothing may need it yet: what it is computed from may be there
        /// only then.
        early: bool,
    },
}

impl Gap {
    /// The task up to whose turn an item stays that is there when the gap begins.
    pub(super) fn stays_until(self) -> u32 {
        match self {
            Self::Held => NEVER,
            Self::Once | Self::Fleeting => 0,
            Self::Partly { until, .. } => until,
        }
    }

    /// The task up to whose turn an item stays that is computed again in the turn of a task.
    pub(super) fn stays_again_until(self, turn: u32) -> u32 {
        match self {
            Self::Held | Self::Once => NEVER,
            Self::Fleeting => turn,
            Self::Partly { from, .. } if turn >= from => NEVER,
            Self::Partly { until, .. } => until.max(turn),
        }
    }
}

/// What a schedule comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// What running tasks again costs.
    pub extra: f64,
    /// The most bytes live at once.
    pub floor: u64,
    /// Bytes live above the budget, summed over all runs.
    pub excess: u128,
}

/// Makes schedules of one problem; keeps its workspace from one to the next.
pub struct Scheduler<'a> {
    problem: &'a Problem,
    /// For each task, the items it reads that do not live across steps, each once.
    reads: Vec<Vec<usize>>,
    /// For each item, the number of its first gap.
    first_gap: Vec<usize>,
    /// For each gap, the tasks between which it lies.
    spans: Vec<(usize, usize)>,
    /// For each gap, its item.
    items: Vec<usize>,
    walk: Walk,
    ledger: Ledger,
}

/// Items smaller than the largest by this factor always stay.
const SMALL: u64 = 2048;

impl<'a> Scheduler<'a> {
    /// Looks at the uses of every item.
    pub fn new(problem: &'a Problem) -> Self {
        let reads: Vec<Vec<usize>> = problem.tasks.iter().map(|task| transient(problem, task)).collect();
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); problem.items.len()];
        for (task, items) in reads.iter().enumerate() {
            items.iter().for_each(|&item| uses[item].push(task));
        }
        let (mut first_gap, mut spans, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for (item, uses) in uses.iter().enumerate() {
            first_gap.push(spans.len());
            let begins =
                std::iter::once(problem.items[item].producer.unwrap_or(0)).chain(uses.iter().copied());
            let ends = uses.iter().copied().chain(std::iter::once(problem.tasks.len()));
            spans.extend(begins.zip(ends));
            items.resize(spans.len(), item);
        }
        let walk = Walk::new(problem, &reads, &first_gap);
        Self { problem, reads, first_gap, spans, items, walk, ledger: Ledger::new(problem) }
    }

    /// The gaps in which an item may be dropped and dropping may pay: something else runs meanwhile, and the item is
    /// not needed by an update or the caller. Small items are not worth a thought.
    pub fn candidates(&self) -> Vec<usize> {
        let worth = self.problem.items.iter().map(|item| item.bytes).max().unwrap_or(0) / SMALL;
        let mut needed_later = vec![false; self.problem.items.len()];
        for task in &self.problem.updates {
            task.inputs.iter().for_each(|&item| needed_later[item] = true);
        }
        let may = |&gap: &usize| {
            let (item, (begin, end)) = (self.items[gap], self.spans[gap]);
            let facts = &self.problem.items[item];
            let stays = self.is_last(gap) && (needed_later[item] || facts.is_output);
            facts.producer.is_some() && facts.bytes > worth && !stays && end > begin + 1
        };
        (0..self.spans.len()).filter(may).collect()
    }

    /// Every item held from use to use, so that nothing is computed twice, and not a moment longer.
    pub fn all_held(&self) -> Vec<Gap> {
        let mut gaps = vec![Gap::Held; self.spans.len()];
        for gap in self.candidates().into_iter().filter(|&gap| self.is_last(gap)) {
            gaps[gap] = Gap::Fleeting;
        }
        gaps
    }

    /// The sequence of tasks, with updates (numbered behind the tasks) in between.
    pub fn runs(&mut self, gaps: &[Gap]) -> Vec<usize> {
        self.sums(gaps, u64::MAX);
        self.ledger.runs(&self.walk)
    }

    /// What the schedule comes to, measured against a budget.
    pub fn sums(&mut self, gaps: &[Gap], budget: u64) -> Sums {
        self.walk.walk(gaps, &self.spans, &self.items);
        self.ledger.enter(&self.walk);
        let (mut floor, mut excess) = (0, 0);
        for live in self.ledger.live() {
            floor = floor.max(live);
            excess += u128::from(live.saturating_sub(budget));
        }
        Sums { extra: self.walk.extra, floor, excess }
    }

    /// The tasks that take place above a budget in the schedule summed up last, be it themselves or what is computed
    /// again for them.
    pub fn tasks_above(&self, budget: u64) -> Vec<bool> {
        let tasks = self.problem.tasks.len();
        let mut above = vec![false; tasks + 1];
        let mut turn = 0;
        for (run, live) in self.ledger.runs(&self.walk).into_iter().zip(self.ledger.live()) {
            above[turn] |= live > budget;
            // What runs again has a lower number than the task whose turn it is, and an update a higher one than all
            // tasks.
            turn += usize::from(run == turn && run < tasks);
        }
        above
    }

    /// Whether the schedule summed up last computes the item of a gap again.
    pub fn is_again(&self, gap: usize) -> bool {
        self.walk.is_again[self.producer(gap)]
    }

    /// The turn in which the schedule summed up last computes the item of a gap again for the first time.
    pub fn first_again(&self, gap: usize) -> Option<usize> {
        Some(self.walk.again_at[gap] as usize).filter(|&turn| turn < self.problem.tasks.len())
    }

    /// The turn in which something that runs again reads the item of a gap for the first time in the schedule summed up
    /// last.
    pub fn first_reread(&self, gap: usize) -> Option<usize> {
        Some(self.walk.reread_at[gap] as usize).filter(|&turn| turn < self.problem.tasks.len())
    }

    /// Bytes live at each run of the schedule summed up last, and for each task which run is its own.
    pub fn profile(&self) -> (Vec<u64>, Vec<usize>) {
        let tasks = self.problem.tasks.len();
        let mut own = Vec::with_capacity(tasks);
        for (position, run) in self.ledger.runs(&self.walk).into_iter().enumerate() {
            // What runs again has a lower number than the task whose turn it is, and an update a higher one than all
            // tasks.
            if run == own.len() && run < tasks {
                own.push(position);
            }
        }
        (self.ledger.live().collect(), own)
    }

    /// The gap in which an item is at the turn of a task behind its production.
    pub fn gap_at(&self, item: usize, turn: usize) -> usize {
        let (first, next) =
            (self.first_gap[item], self.first_gap.get(item + 1).copied().unwrap_or(self.spans.len()));
        let begun = self.spans[first..next].partition_point(|&(begin, _)| begin < turn);
        first + begun.saturating_sub(1)
    }

    /// What a task reads that does not live across steps, each item once.
    pub fn reads(&self, task: usize) -> &[usize] {
        &self.reads[task]
    }

    /// Whether a gap lies behind the last use.
    pub fn is_last(&self, gap: usize) -> bool {
        self.spans[gap].1 == self.problem.tasks.len()
    }

    /// The item of a gap.
    pub fn item(&self, gap: usize) -> usize {
        self.items[gap]
    }

    /// The tasks between which a gap lies.
    pub fn span(&self, gap: usize) -> (usize, usize) {
        self.spans[gap]
    }

    /// The task that computes the item of a gap.
    ///
    /// # Panics
    /// If the item is there from the beginning.
    pub fn producer(&self, gap: usize) -> usize {
        self.problem.items[self.items[gap]].producer.expect("only what is computed is dropped")
    }

    /// For what is read to compute the item of a gap again when the gap is over: the gaps it is in then.
    pub fn gaps_of_inputs(&self, gap: usize) -> impl Iterator<Item = usize> + '_ {
        let (_, end) = self.spans[gap];
        let gap_then = move |&item: &usize| {
            let next = self.first_gap.get(item + 1).copied().unwrap_or(self.spans.len());
            (self.first_gap[item]..next).rev().find(|&gap| self.spans[gap].0 < end)
        };
        self.reads[self.producer(gap)].iter().filter_map(gap_then)
    }
}

/// What a task reads that does not live across steps, each item once.
pub(super) fn transient(problem: &Problem, task: &Task) -> Vec<usize> {
    let mut items: Vec<usize> =
        task.inputs.iter().copied().filter(|&item| !problem.items[item].is_persistent).collect();
    items.sort_unstable();
    items.dedup();
    items
}
