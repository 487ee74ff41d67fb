//! The search over configurations: the fastest step that fits a number of bytes.
//!
//! Levers that leave the numbers the same are used freely: updates as soon as they may, ops in place, values computed
//! again, and micro-batches where samples do not see each other. What changes numbers is used only where it is allowed,
//! and otherwise given as advice with its figures.

mod exact;
mod largest_batch;
mod stages;

pub use largest_batch::largest_batch;

use crate::{Bytes, Job, JobError, Outlook, OverBudget, Prepared};
pub(crate) use exact::side_by_side;
use exact::{Wanted, exact, fewest_micro_batches};
use plimsoll_train::lever::{Choices, Cost, Home};
use plimsoll_train::{Allowed, Change, Lever};

/// The way from a model as written to a plan that fits.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The plan, with everything that is needed to run it.
    pub prepared: Prepared,
    /// What may be used.
    pub budget: Bytes,
    /// What each lever came to, one added to another; the first is the model as written, the last the plan.
    pub stages: Vec<Stage>,
    /// Other plans of the same step: less memory for more time. The smallest first.
    pub frontier: Vec<Point>,
    /// What was not allowed but would bring the peak down.
    pub advice: Vec<Outlook>,
    /// What levers could change, as it was written.
    pub written: Choices,
    /// What in the model lets samples of a batch see each other, if something does.
    pub mixing: Option<String>,
    /// What the plan changes about the numbers of a step.
    pub changes: Vec<Change>,
}

/// The step after one more lever.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// What it changes; nothing for the model as written.
    pub change: Option<Change>,
    /// The peak with it.
    pub peak: Bytes,
    /// How long a step should take.
    pub seconds: f64,
    /// What it does.
    pub note: String,
}

/// A plan as memory against time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its peak.
    pub peak: Bytes,
    /// How long a step should take.
    pub seconds: f64,
    /// The floating-point operations beyond those of the model as written, as a share of these.
    pub extra_flops: f64,
}

/// Shares of what the step takes within itself that the frontier looks at, in percent.
const FRONTIER: [u64; 5] = [75, 55, 40, 30, 22];

/// Finds the fastest plan for a job within a budget.
pub fn fit(job: &Job, budget: Bytes, allowed: Allowed) -> Result<Fit, JobError> {
    let job = &without_withheld(job, allowed);
    let plain = job.prepare()?;
    let exact = exact(job, &plain, Wanted { budget, allowed, smallest: true })?;
    let changed = if exact.peak() <= budget { None } else { change(job, budget, allowed)? };
    let (prepared, mut changes) = changed.unwrap_or((exact, Vec::new()));
    if prepared.peak() > budget {
        let over = OverBudget::explain(&prepared, budget, allowed);
        return Err(JobError::OverBudget(Box::new(over)));
    }
    let mixing = job.mixing()?.map(|mixing| mixing.to_string());
    let micro_batches = Change::MicroBatches(prepared.job.micro_batches);
    changes.extend((prepared.job.micro_batches > 1 && mixing.is_some()).then_some(micro_batches));
    let stages = stages::stages(job, &plain, &prepared)?;
    let advice = advice(job, &plain, budget, allowed)?;
    Ok(Fit {
        stages,
        advice,
        mixing,
        budget,
        written: job.choices(),
        changes,
        frontier: Vec::new(),
        prepared,
    })
}

/// The same with the frontier, which is looked for at the same time.
pub fn fit_and_explore(job: &Job, budget: Bytes, allowed: Allowed) -> Result<Fit, JobError> {
    let (found, points) = std::thread::scope(|scope| {
        let points = scope.spawn(|| points(job));
        let found = fit(job, budget, allowed);
        (found, points.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut found = found?;
    let made = &found.prepared.job;
    match (made.batch, made.optimizer) == (job.batch, job.optimizer) {
        true => found.add(points?),
        false => found.explore()?,
    }
    Ok(found)
}

/// Plans of a step as a whole batch, from the plain one to those with much less memory.
fn points(job: &Job) -> Result<Vec<Point>, JobError> {
    let job = Job { micro_batches: 1, ..job.clone() };
    let plain = job.prepare()?;
    let (persistent, peak) = (plain.plan().persistent, plain.peak());
    let budgets = FRONTIER.map(|share| Bytes(persistent.0 + (peak.0 - persistent.0) / 100 * share));
    let mut points = vec![point(&plain)];
    points.extend(job.frontier(&plain, &budgets));
    Ok(points)
}

impl Fit {
    /// Looks at plans of the same step, as a whole batch, with less and more memory, and adds them to the frontier.
    pub fn explore(&mut self) -> Result<(), JobError> {
        let points = points(&self.prepared.job)?;
        self.add(points);
        Ok(())
    }

    fn add(&mut self, mut points: Vec<Point>) {
        points.push(point(&self.prepared));
        points.sort_by(|a, b| a.peak.cmp(&b.peak).then(a.seconds.total_cmp(&b.seconds)));
        points.dedup_by_key(|point| point.peak);
        // What needs more memory and is not faster is not on the frontier.
        let mut fastest = f64::INFINITY;
        points.retain(|point| {
            let is_faster = point.seconds < fastest;
            fastest = fastest.min(point.seconds);
            is_faster
        });
        self.frontier = points;
    }

    /// What is different about the numbers of a step, in words; nothing where they are as written.
    pub fn different_numbers(&self) -> Option<String> {
        let words = |change: &Change| match change {
            Change::Optimizer(optimizer) => format!("the optimizer is {optimizer}"),
            Change::Batch(batch) => {
                format!("the batch has {batch} samples instead of {}", self.written.batch)
            }
            Change::MicroBatches(count) => {
                format!("{} instead of {}", self.seen(*count).unwrap_or_default(), self.prepared.job.batch)
            }
            other => other.to_string(),
        };
        let words: Vec<String> = self.changes.iter().map(words).collect();
        (!words.is_empty()).then(|| words.join(", and "))
    }

    /// A change to this step, with what it means for the numbers where that depends on the model.
    pub fn describe(&self, change: Change) -> String {
        match change {
            Change::MicroBatches(count) => {
                let samples = self.prepared.job.batch.div_ceil(count);
                let seen = self.seen(count).map_or(String::new(), |seen| format!(" ({seen})"));
                format!("{change} of {samples}{seen}")
            }
            Change::Optimizer(optimizer) => optimizer.to_string(),
            other => other.to_string(),
        }
    }

    /// What sees how many samples in micro-batches, where something sees more than one.
    fn seen(&self, micro_batches: usize) -> Option<String> {
        let samples = self.prepared.job.batch.div_ceil(micro_batches);
        self.mixing.as_ref().map(|mixing| format!("{mixing} sees {samples} samples"))
    }

    /// The model as written.
    pub fn as_written(&self) -> &Stage {
        &self.stages[0]
    }

    /// How much longer a step takes than as written, as a share of that.
    pub fn extra_time(&self) -> f64 {
        self.prepared.seconds() / self.as_written().seconds - 1.0
    }
}

fn point(prepared: &Prepared) -> Point {
    Point { peak: prepared.peak(), seconds: prepared.seconds(), extra_flops: prepared.extra_flops() }
}

/// A job that does not pull levers that are withheld.
fn without_withheld(job: &Job, allowed: Allowed) -> Job {
    let mut job = job.clone();
    job.options.update_when_ready &= !allowed.is_withheld(Lever::Ready);
    job.options.in_place &= !allowed.is_withheld(Lever::InPlace);
    job
}

/// Where nothing exact fits: the first of the changes that are allowed with which something does.
fn change(job: &Job, budget: Bytes, allowed: Allowed) -> Result<Option<(Prepared, Vec<Change>)>, JobError> {
    for changes in changes(job, allowed, samples_stay_apart(job)?) {
        let Some(job) = job.with_all(&changes) else { continue };
        let found = exact(&job, &job.prepare()?, Wanted { budget, allowed, smallest: false })?;
        if found.peak() <= budget {
            return Ok(Some((found, changes)));
        }
    }
    Ok(None)
}

/// Changes of numbers, the mildest first: those of each lever, alone and beside the most that the levers before it can
/// do.
fn changes(job: &Job, allowed: Allowed, apart: bool) -> Vec<Vec<Change>> {
    let of_numbers = |lever: &Lever| lever.facts().cost == Cost::Numbers && allowed.may(*lever, apart);
    let (mut sets, mut gravest) = (Vec::new(), Vec::new());
    for lever in Lever::of(Home::Plimsoll).filter(of_numbers) {
        let changes: Vec<Change> = lever.changes(job.choices()).collect();
        for &change in &changes {
            sets.push(vec![change]);
            sets.extend((!gravest.is_empty()).then(|| [gravest.as_slice(), &[change]].concat()));
        }
        gravest.extend(changes.last());
    }
    sets
}

fn samples_stay_apart(job: &Job) -> Result<bool, JobError> {
    Ok(job.mixing()?.is_none())
}

/// What was not allowed but would help, with its figures.
fn advice(job: &Job, plain: &Prepared, budget: Bytes, allowed: Allowed) -> Result<Vec<Outlook>, JobError> {
    let apart = samples_stay_apart(job)?;
    let asked = |lever: &Lever| !allowed.may(*lever, apart) && !allowed.is_withheld(*lever);
    let changes = Lever::of(Home::Plimsoll).filter(asked).flat_map(|lever| match lever {
        Lever::Accumulate if plain.peak() > budget && job.batch > 1 => {
            vec![Change::MicroBatches(fewest_micro_batches(job, budget))]
        }
        Lever::Optimizer => lever.changes(job.choices()).collect(),
        // Everybody knows that a smaller batch takes less, and `largest_batch` finds the largest.
        Lever::Accumulate | Lever::Batch => Vec::new(),
        // Nobody has to allow what is exact; the rest is no lever of Plimsoll.
        Lever::Ready | Lever::InPlace | Lever::Recompute | Lever::Threads => Vec::new(),
        Lever::Graph | Lever::Region | Lever::Precision => Vec::new(),
    });
    let consider = |change: Change| {
        let peak = job.with(change)?.step_peak().ok()?;
        Some(Outlook { change, peak, fits: peak <= budget })
    };
    Ok(changes.filter_map(consider).collect())
}
