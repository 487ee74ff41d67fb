//! The search over configurations: the fastest step that fits a number of bytes.
//!
//! Levers that leave the numbers the same are used freely: updates as soon as they may, ops in place, values computed again, and micro-batches
//! where samples do not see each other. What changes numbers is used only where it is allowed, and otherwise given as advice with its figures.

mod largest_batch;
mod stages;

pub use largest_batch::largest_batch;

use crate::parts::MOST_PARTS;
use crate::prepared::Aim;
use crate::{Bytes, Job, JobError, Prepared, Remedy};
use plimsoll_plan::Residents;

/// Levers whose use is up to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// No micro-batches, even where they change nothing.
    pub whole: bool,
    /// Micro-batches although samples of a batch see each other, as with batch normalization: each sees its micro-batch only.
    pub accumulate: bool,
    /// An optimizer that keeps less.
    pub optimizer: bool,
    /// A smaller batch.
    pub batch: bool,
}

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
    pub advice: Vec<Remedy>,
    /// Whether the plan changes the numbers of a step, and how.
    pub changes: Option<String>,
}

/// The step after one more lever.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The lever.
    pub lever: String,
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
pub fn fit(job: &Job, budget: Bytes, allow: Allow) -> Result<Fit, JobError> {
    let plain = job.prepare()?;
    let exact = exact(job, &plain, budget, allow)?;
    let changed = if exact.peak() <= budget { None } else { change(job, budget, allow)? };
    let (prepared, changes) = match changed {
        Some((changed, text)) => (changed, Some(text)),
        None => (exact.within(budget)?, None),
    };
    let changes = match changes {
        Some(text) => Some(text),
        None => fewer_samples(&prepared)?,
    };
    let stages = stages::stages(job, &plain, &prepared)?;
    let advice = advice(job, &plain, budget, allow)?;
    Ok(Fit { stages, advice, budget, changes, frontier: Vec::new(), prepared })
}

/// The same with the frontier, which is looked for at the same time.
pub fn fit_and_explore(job: &Job, budget: Bytes, allow: Allow) -> Result<Fit, JobError> {
    let (found, points) = std::thread::scope(|scope| {
        let points = scope.spawn(|| points(job));
        let found = fit(job, budget, allow);
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

fn may_accumulate(job: &Job, allow: Allow) -> Result<bool, JobError> {
    Ok(!allow.whole && (allow.accumulate || job.model.mixing()?.is_none()))
}

/// The fastest of: the whole batch, the fewest micro-batches that need nothing computed again, and half as many with some of it computed again.
fn fastest(job: &Job, plain: &Prepared, budget: Bytes, accumulate: bool) -> Result<Prepared, JobError> {
    if plain.peak() <= budget {
        return Ok(plain.clone());
    }
    let mut counts = vec![1];
    if accumulate && job.batch > 1 {
        let enough = fewest_micro_batches(job, budget);
        counts.extend([enough.div_ceil(2), enough].into_iter().filter(|&count| count > 1));
        counts.dedup();
    }
    let aim = if counts.len() > 1 { Aim::quickly_within(budget) } else { Aim::within(budget) };
    let prepare = |micro_batches: usize| {
        Prepared::new(&Job { micro_batches, ..job.clone() }, aim, &Residents::default())
    };
    let rank = |prepared: &Prepared| (prepared.peak().saturating_sub(budget), prepared.seconds());
    let mut best: Option<Prepared> = None;
    for found in side_by_side(counts, prepare) {
        let found = found?;
        if best.as_ref().is_none_or(|best| rank(&found) < rank(best)) {
            best = Some(found);
        }
    }
    Ok(best.expect("the whole batch was tried"))
}

/// Calls a function for each item on a thread of its own; the results stand in the order of the items.
pub(crate) fn side_by_side<T: Send, R: Send>(items: Vec<T>, act: impl Fn(T) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = items.into_iter().map(|item| scope.spawn(move || act(item))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, R>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// The fewest micro-batches that fit without computing anything again; as many as there may be if none do.
fn fewest_micro_batches(job: &Job, budget: Bytes) -> usize {
    let fits = |micro_batches: usize| {
        let job = Job { micro_batches, ..job.clone() };
        job.step_peak().is_ok_and(|peak| peak <= budget)
    };
    let (mut low, mut high) = (1, job.batch.min(MOST_PARTS));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}

/// What fits without a change of numbers, or comes nearest to it.
fn exact(job: &Job, plain: &Prepared, budget: Bytes, allow: Allow) -> Result<Prepared, JobError> {
    match job.micro_batches {
        1 => fastest(job, plain, budget, may_accumulate(job, allow)?),
        _ => Prepared::new(job, Aim::within(budget), &Residents::default()),
    }
}

/// Where nothing exact fits: another optimizer, then a smaller batch, as far as they are allowed. Says what was changed.
fn change(job: &Job, budget: Bytes, allow: Allow) -> Result<Option<(Prepared, String)>, JobError> {
    for (text, job) in changes(job, allow) {
        let found = exact(&job, &job.prepare()?, budget, allow)?;
        if found.peak() <= budget {
            return Ok(Some((found, text)));
        }
    }
    Ok(None)
}

/// Jobs with other numbers, the mildest change first, each with what is changed.
fn changes(job: &Job, allow: Allow) -> Vec<(String, Job)> {
    let mut jobs = Vec::new();
    if allow.optimizer {
        let leaner = job.optimizer.leaner().map(|optimizer| Job { optimizer, ..job.clone() });
        jobs.extend(leaner.map(|job| (format!("the optimizer is {}", job.optimizer), job)));
    }
    if allow.batch {
        let lean = jobs.last().map_or(job, |(_, job)| job).clone();
        let halves = std::iter::successors(Some(job.batch / 2), |batch| Some(batch / 2));
        // A micro-batch has at least one sample.
        for batch in halves.take_while(|&batch| batch >= job.micro_batches.max(1)) {
            jobs.push((
                format!("the batch has {batch} samples instead of {}", job.batch),
                Job { batch, ..job.clone() },
            ));
            if allow.optimizer {
                let text = format!("the batch has {batch} samples and the optimizer is {}", lean.optimizer);
                jobs.push((text, Job { batch, ..lean.clone() }));
            }
        }
    }
    jobs
}

/// What sees fewer samples than were asked for, if something in the model sees more than one.
fn fewer_samples(prepared: &Prepared) -> Result<Option<String>, JobError> {
    let (job, rows) = (&prepared.job, prepared.parts[0].rows);
    let mixing = if job.micro_batches > 1 { job.model.mixing()? } else { None };
    Ok(mixing.map(|mixing| format!("{mixing} sees {rows} samples instead of {}", job.batch)))
}

/// What was not allowed but would help, with its figures.
fn advice(job: &Job, plain: &Prepared, budget: Bytes, allow: Allow) -> Result<Vec<Remedy>, JobError> {
    let mut advice = Vec::new();
    let mut consider = |change: String, job: &Job| {
        if let Ok(peak) = job.step_peak() {
            advice.push(Remedy { change, peak, fits: peak <= budget });
        }
    };
    if !may_accumulate(job, allow)? && plain.peak() > budget && job.batch > 1 {
        let micro_batches = fewest_micro_batches(job, budget);
        let rows = job.batch.div_ceil(micro_batches);
        let seen =
            job.model.mixing()?.map_or(String::new(), |mixing| format!(" ({mixing} sees {rows} samples)"));
        let text = format!("--allow accumulate: {micro_batches} micro-batches of {rows}{seen}");
        consider(text, &Job { micro_batches, ..job.clone() });
    }
    if !allow.optimizer {
        for optimizer in job.optimizer.leaner() {
            consider(format!("--allow optimizer: {optimizer}"), &Job { optimizer, ..job.clone() });
        }
    }
    Ok(advice)
}
