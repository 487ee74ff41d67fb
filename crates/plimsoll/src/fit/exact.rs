//! The fastest plan whose numbers are those of the model as written.

use super::samples_stay_apart;
use crate::lanes::best_lanes;
use crate::micro_batches::MOST_MICRO_BATCHES;
use crate::planning::Aim;
use crate::{Bytes, Job, JobError, Prepared};
use plimsoll_plan::Residents;
use plimsoll_train::{Allowed, Lever};

/// What is looked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) budget: Bytes,
    pub(super) allowed: Allowed,
    /// Whether the smallest plan is wanted where none fits.
    pub(super) smallest: bool,
}

/// What fits without a change of numbers, beside those that are allowed by name; or comes nearest to it, if that is
/// wanted.
pub(super) fn exact(job: &Job, plain: &Prepared, wanted: Wanted) -> Result<Prepared, JobError> {
    match (job.micro_batches, wanted.allowed.is_withheld(Lever::Recompute)) {
        (1, _) => fastest(job, plain, wanted),
        (_, true) => Ok(plain.clone()),
        (_, false) => within(job, wanted),
    }
}

/// The whole batch or micro-batches, with the number of lanes that is fastest.
fn fastest(job: &Job, plain: &Prepared, wanted: Wanted) -> Result<Prepared, JobError> {
    let Wanted { budget, allowed, .. } = wanted;
    let may_cut = job.batch > 1 && allowed.may(Lever::Accumulate, samples_stay_apart(job)?);
    // Where half of the budget is enough, fewer lanes need no more than all of it.
    let must_look = may_cut && plain.peak().0 > budget.0 / 2;
    let micro_batches = if must_look { count(&job.on_any_machine(), wanted)? } else { 1 };
    match micro_batches {
        1 if plain.peak() <= budget => Ok(plain.clone()),
        _ => within(&Job { micro_batches, ..job.clone() }, wanted),
    }
}

/// A number of micro-batches that is given, with the number of lanes that is fastest.
fn within(job: &Job, wanted: Wanted) -> Result<Prepared, JobError> {
    let prepare = |job: &Job| Prepared::new(job, wanted.aim(), &Residents::default());
    match wanted.allowed.is_withheld(Lever::Threads) {
        true => prepare(job),
        false => {
            let mut best = best_lanes(job, wanted.budget, |job| Ok(vec![prepare(job)?]))?;
            Ok(best.swap_remove(0))
        }
    }
}

impl Wanted {
    fn aim(self) -> Aim {
        let aim = Aim::within(self.budget);
        match (self.allowed.is_withheld(Lever::Recompute), self.smallest) {
            (true, _) => Aim::WHATEVER,
            (false, true) => aim,
            (false, false) => aim.or_none(),
        }
    }
}

/// How many micro-batches are fastest: the fewest that need nothing computed again, or fewer, down to one, with some of
/// it computed again. Which these are follows from the batch alone, and each is planned with as much effort as in the
/// end, so a larger budget is never slower. The sums of a step depend on the count, so the job must be the same on any
/// machine.
fn count(job: &Job, wanted: Wanted) -> Result<usize, JobError> {
    let budget = wanted.budget;
    if job.step_peak()? <= budget {
        return Ok(1);
    }
    let enough = fewest_micro_batches(job, budget);
    let fewer = std::iter::successors(Some(1), |count| Some(2 * count)).take_while(|&count| count < enough);
    // Where so many fit, those that cannot are of no interest.
    let fits = Job { micro_batches: enough, ..job.clone() }.step_peak()? <= budget;
    let aim = Wanted { smallest: wanted.smallest && !fits, ..wanted }.aim();
    let prepare = |micro_batches: usize| {
        let job = Job { micro_batches, ..job.clone() };
        Prepared::new(&job, aim, &Residents::default())
    };
    let rank = |prepared: &Prepared| (prepared.peak().saturating_sub(budget), prepared.seconds());
    let mut best: Option<Prepared> = None;
    for found in side_by_side(fewer.chain([enough]).collect(), prepare) {
        let found = found?;
        if best.as_ref().is_none_or(|best| rank(&found) < rank(best)) {
            best = Some(found);
        }
    }
    Ok(best.map_or(1, |best| best.job.micro_batches))
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
pub(super) fn fewest_micro_batches(job: &Job, budget: Bytes) -> usize {
    let fits = |micro_batches: usize| {
        let job = Job { micro_batches, ..job.clone() };
        job.step_peak().is_ok_and(|peak| peak <= budget)
    };
    let (mut low, mut high) = (1, job.batch.min(MOST_MICRO_BATCHES));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}
