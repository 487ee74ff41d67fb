//! From decisions about gaps to a schedule, and from a schedule to its bytes.
//!
//! A gap is the time between two uses of an item: from its production to its first use, from each use to the next, and from the last one on.
//! For each gap a [`Gap`] says what happens to the item there. Whatever is missing when a task needs it is computed again right before,
//! with everything that takes. A task reads the latest result of each item, so the sequence of tasks says everything.

use super::Problem;

/// What happens to an item between two uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gap {
    /// It stays in memory.
    Held,
    /// It is dropped; once something needs it again, it is computed and stays until the gap is over.
    Once,
    /// It is dropped and computed again each time something needs it.
    Fleeting,
}

/// Makes schedules of one problem; keeps its workspace from one to the next.
pub struct Scheduler<'a> {
    problem: &'a Problem,
    /// For each task, the items it reads, each once.
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

/// Where the making of a sequence is.
#[derive(Default)]
struct Walk {
    is_there: Vec<bool>,
    /// For each item, the gap it is in.
    gap: Vec<usize>,
    missing: Vec<usize>,
    again: Vec<usize>,
    wanted: Vec<bool>,
    fleeting: Vec<usize>,
    /// The tasks in their order; updates follow the tasks in number.
    runs: Vec<usize>,
    /// What those that run again cost.
    extra: f64,
    /// For each task, how often it runs again.
    times: Vec<u32>,
}

/// Who holds what when.
#[derive(Default)]
struct Ledger {
    runs: Vec<usize>,
    /// For each result, the run that uses it last.
    last_use: Vec<usize>,
    /// For each item, its latest result.
    latest: Vec<usize>,
    /// For each run, its results come one after another from here.
    first_result: Vec<usize>,
    /// For each run and input, the result it reads.
    read: Vec<usize>,
    changes: Vec<i64>,
    written_at: Vec<usize>,
    read_at: Vec<usize>,
    behind: Vec<(usize, usize)>,
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

/// Items smaller than the largest by this factor always stay.
const SMALL: u64 = 2048;
const NOBODY: usize = usize::MAX;

impl<'a> Scheduler<'a> {
    /// Looks at the uses of every item.
    pub fn new(problem: &'a Problem) -> Self {
        let reads: Vec<Vec<usize>> = problem.tasks.iter().map(|task| distinct(&task.inputs)).collect();
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
        Self { problem, reads, first_gap, spans, items, walk: Walk::default(), ledger: Ledger::default() }
    }

    /// The gaps in which an item may be dropped and dropping may pay: something else runs meanwhile, and the item is not needed
    /// by an update or the caller. Small items are not worth a thought.
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

    /// Whether a gap lies behind the last use.
    pub fn is_last(&self, gap: usize) -> bool {
        self.spans[gap].1 == self.problem.tasks.len()
    }

    /// The gaps in which what a task reads is when another task has its turn.
    pub fn gaps_of_inputs(&self, task: usize, at: usize) -> impl Iterator<Item = usize> + '_ {
        let gap_at = move |&item: &usize| {
            let gaps =
                self.first_gap[item]..self.first_gap.get(item + 1).copied().unwrap_or(self.spans.len());
            gaps.rev().find(|&gap| self.spans[gap].0 < at)
        };
        self.reads[task].iter().filter_map(gap_at)
    }

    /// Whether the schedule summed up last computes an item again.
    pub fn is_again(&self, item: usize) -> bool {
        self.problem.items[item].producer.is_some_and(|task| self.walk.times[task] > 0)
    }

    /// The tasks that take place above a budget in the schedule summed up last, be it themselves or what is computed again for them.
    pub fn tasks_above(&self, budget: u64) -> Vec<bool> {
        let mut above = vec![false; self.problem.tasks.len() + 1];
        let mut turn = 0;
        for (&run, live) in self.ledger.runs.iter().zip(self.live()) {
            above[turn] |= live > budget;
            // What runs again has a lower number than the task whose turn it is.
            turn += usize::from(run == turn);
        }
        above
    }

    /// The item of a gap.
    pub fn item(&self, gap: usize) -> usize {
        self.items[gap]
    }

    /// The task that computes the item of a gap.
    ///
    /// # Panics
    /// If the item is there from the beginning.
    pub fn producer(&self, gap: usize) -> usize {
        self.problem.items[self.items[gap]].producer.expect("only what is computed is dropped")
    }

    /// What computing an item again costs, if nothing else is missing.
    pub fn cost_of(&self, item: usize) -> f64 {
        self.problem.items[item].producer.map_or(0.0, |task| self.problem.tasks[task].cost)
    }

    /// The tasks between which a gap lies.
    pub fn span(&self, gap: usize) -> (usize, usize) {
        self.spans[gap]
    }

    /// The sequence of tasks, with updates (numbered behind the tasks) in between.
    pub fn runs(&mut self, gaps: &[Gap]) -> &[usize] {
        self.walk(gaps);
        self.insert_updates();
        &self.ledger.runs
    }

    /// What the schedule comes to, measured against a budget.
    pub fn sums(&mut self, gaps: &[Gap], budget: u64) -> Sums {
        self.walk(gaps);
        self.insert_updates();
        self.bind();
        self.add_up(budget)
    }

    /// Bytes live at each run of the schedule that was summed up last.
    pub fn live(&self) -> impl Iterator<Item = u64> + '_ {
        let mut live = self.problem.persistent as i64;
        self.ledger.changes[..self.ledger.runs.len()].iter().map(move |change| {
            live += change;
            live as u64
        })
    }

    fn walk(&mut self, gaps: &[Gap]) {
        let Self { problem, reads, first_gap, walk, .. } = self;
        walk.begin(problem, first_gap);
        for (task, items) in reads.iter().enumerate() {
            walk.compute_missing(problem, reads, task, gaps);
            walk.runs.push(task);
            for &item in &walk.fleeting {
                walk.is_there[item] = false;
            }
            walk.fleeting.clear();
            for &item in items {
                walk.gap[item] += 1;
                walk.is_there[item] =
                    problem.items[item].producer.is_none() || gaps[walk.gap[item]] == Gap::Held;
            }
            for &item in &problem.tasks[task].outputs {
                walk.is_there[item] = gaps[walk.gap[item]] == Gap::Held;
            }
        }
    }

    /// Puts each update behind the last run it has to wait for.
    fn insert_updates(&mut self) {
        let Self { problem, walk, ledger, .. } = self;
        ledger.note_times(problem, &walk.runs);
        ledger.behind.clear();
        for (number, update) in problem.updates.iter().enumerate() {
            let made = update.inputs.iter().map(|&item| ledger.written_at[item]);
            let read = update.overwrites.iter().map(|&item| ledger.read_at[item]);
            let slot = match problem.update_when_ready {
                true => made.chain(read).max().unwrap_or(0),
                false => walk.runs.len(),
            };
            update.outputs.iter().for_each(|&item| ledger.written_at[item] = slot);
            update.inputs.iter().for_each(|&item| ledger.read_at[item] = ledger.read_at[item].max(slot));
            ledger.behind.push((slot, problem.tasks.len() + number));
        }
        ledger.behind.sort_by_key(|&(slot, _)| slot);
        ledger.merge(&walk.runs);
    }

    /// Finds which result each run reads, and each result's last use.
    fn bind(&mut self) {
        let Self { problem, ledger, .. } = self;
        ledger.latest.clear();
        ledger.latest.resize(problem.items.len(), NOBODY);
        ledger.last_use.clear();
        ledger.first_result.clear();
        ledger.read.clear();
        // What is there from the beginning comes first, in the order of items.
        for (item, facts) in problem.items.iter().enumerate().filter(|(_, item)| item.producer.is_none()) {
            ledger.latest[item] = ledger.last_use.len();
            ledger.last_use.push(if facts.is_output { NOBODY } else { 0 });
        }
        for run in 0..ledger.runs.len() {
            let task = task(problem, ledger.runs[run]);
            for &item in &task.inputs {
                let result = ledger.latest[item];
                ledger.last_use[result] = run;
                ledger.read.push(result);
            }
            ledger.first_result.push(ledger.last_use.len());
            for &item in &task.outputs {
                ledger.latest[item] = ledger.last_use.len();
                ledger.last_use.push(run);
            }
        }
        let end = ledger.runs.len();
        for (item, _) in problem.items.iter().enumerate().filter(|(_, item)| item.is_output) {
            ledger.last_use[ledger.latest[item]] = end;
        }
    }

    fn add_up(&mut self, budget: u64) -> Sums {
        let Self { problem, ledger, walk, .. } = self;
        let runs = ledger.runs.len();
        ledger.changes.clear();
        ledger.changes.resize(runs + 2, 0);
        let beginning = problem.items.iter().filter(|item| item.producer.is_none());
        for (result, item) in beginning.enumerate() {
            ledger.take(0, ledger.last_use[result], item.bytes);
        }
        let mut read = 0;
        for run in 0..runs {
            let task = task(problem, ledger.runs[run]);
            let inputs = read..read + task.inputs.len();
            read = inputs.end;
            ledger.take(run, run, task.scratch);
            for (output, &item) in task.outputs.iter().enumerate() {
                let result = ledger.first_result[run] + output;
                let begin = run + usize::from(takes_place(problem, ledger, task, run, output, inputs.start));
                ledger.take(begin, ledger.last_use[result], problem.items[item].bytes);
            }
        }
        let extra = walk.extra;
        let (mut floor, mut excess) = (0, 0);
        for live in self.live() {
            floor = floor.max(live);
            excess += u128::from(live.saturating_sub(budget));
        }
        Sums { extra, floor, excess }
    }
}

impl Walk {
    fn begin(&mut self, problem: &Problem, first_gap: &[usize]) {
        self.is_there.clear();
        self.is_there.extend(problem.items.iter().map(|item| item.producer.is_none()));
        self.gap.clear();
        self.gap.extend_from_slice(first_gap);
        self.wanted.clear();
        self.wanted.resize(problem.tasks.len(), false);
        self.times.clear();
        self.times.resize(problem.tasks.len(), 0);
        self.runs.clear();
        self.extra = 0.0;
    }

    /// Runs again whatever a task lacks, in the order of the tasks.
    fn compute_missing(&mut self, problem: &Problem, reads: &[Vec<usize>], task: usize, gaps: &[Gap]) {
        self.missing.clear();
        self.missing.extend(reads[task].iter().copied().filter(|&item| !self.is_there[item]));
        if self.missing.is_empty() {
            return;
        }
        while let Some(item) = self.missing.pop() {
            let Some(producer) = problem.items[item].producer else { continue };
            if !std::mem::replace(&mut self.wanted[producer], true) {
                self.again.push(producer);
                self.missing.extend(reads[producer].iter().copied().filter(|&item| !self.is_there[item]));
            }
        }
        self.again.sort_unstable();
        for task in self.again.drain(..) {
            self.times[task] += 1;
            self.wanted[task] = false;
            self.runs.push(task);
            self.extra += problem.tasks[task].cost;
            for &item in &problem.tasks[task].outputs {
                self.is_there[item] = true;
                if gaps[self.gap[item]] == Gap::Fleeting {
                    self.fleeting.push(item);
                }
            }
        }
    }
}

impl Ledger {
    /// Notes, one later than it happens, when each item was last written and read.
    fn note_times(&mut self, problem: &Problem, runs: &[usize]) {
        for times in [&mut self.written_at, &mut self.read_at] {
            times.clear();
            times.resize(problem.items.len(), 0);
        }
        for (run, &task) in runs.iter().enumerate() {
            let task = &problem.tasks[task];
            task.inputs.iter().for_each(|&item| self.read_at[item] = run + 1);
            task.outputs.iter().for_each(|&item| self.written_at[item] = run + 1);
        }
    }

    fn merge(&mut self, runs: &[usize]) {
        self.runs.clear();
        let mut updates = self.behind.iter().peekable();
        for run in 0..=runs.len() {
            while let Some(&&(_, update)) = updates.peek().filter(|(slot, _)| *slot == run) {
                self.runs.push(update);
                updates.next();
            }
            self.runs.extend(runs.get(run));
        }
    }

    /// Counts bytes from one run to another, both included.
    fn take(&mut self, begin: usize, last: usize, bytes: u64) {
        let end = last.saturating_add(1).min(self.runs.len());
        self.changes[begin] += bytes as i64;
        self.changes[end.max(begin)] -= bytes as i64;
    }
}

/// Whether an output takes the place of an input that nobody reads any more.
fn takes_place(
    problem: &Problem,
    ledger: &Ledger,
    task: &super::Task,
    run: usize,
    output: usize,
    read: usize,
) -> bool {
    let free = |input: usize| {
        let item = task.inputs[input];
        let is_read_once = task.inputs.iter().filter(|&&other| other == item).count() == 1;
        let is_dead = ledger.last_use[ledger.read[read + input]] == run;
        is_read_once && is_dead && !problem.items[item].is_persistent
    };
    // An earlier output may have taken the place already.
    let taken = |input: usize| {
        let earlier = (0..output).filter_map(|earlier| {
            task.in_place
                .iter()
                .filter(|&&(_, other)| other == earlier)
                .map(|&(input, _)| input)
                .find(|&input| free(input))
        });
        earlier.into_iter().any(|other| other == input)
    };
    task.in_place.iter().any(|&(input, other)| other == output && free(input) && !taken(input))
}

/// A task or an update by its number.
pub(super) fn task(problem: &Problem, number: usize) -> &super::Task {
    match number.checked_sub(problem.tasks.len()) {
        None => &problem.tasks[number],
        Some(update) => &problem.updates[update],
    }
}

fn distinct(items: &[usize]) -> Vec<usize> {
    let mut distinct = items.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}
