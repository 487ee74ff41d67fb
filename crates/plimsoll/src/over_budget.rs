//! A plan that does not fit its budget: what is in the way, and what would help, each with a figure that was planned.

use crate::fit::side_by_side;
use crate::hint::{Hint, PlannedChange, Setting};
use crate::planning::Aim;
use crate::{Bytes, Job, Prepared};
use plimsoll_plan::{Holding, Residents, Usage};
use plimsoll_train::lever::Home;
use plimsoll_train::{Allowed, Change, Lever};

/// A budget below what the plan needs.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the smallest plan found needs {peak}, {} more than the budget of {budget}; no plan needs less than {least} (the floor)",
    .peak.saturating_sub(*.budget)
)]
pub struct OverBudget {
    /// What may be used.
    pub budget: Bytes,
    /// What the plan takes.
    pub peak: Bytes,
    /// What no plan for this batch can do without, whatever is computed again.
    pub least: Bytes,
    /// The most bytes live at once in the plan.
    pub floor: Bytes,
    /// Where they go.
    pub usage: Usage,
    /// What would bring the peak down, if allowed.
    pub remedies: Vec<Outlook>,
}

/// A change to the job and the peak it leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The change.
    pub change: Change,
    /// The peak with it.
    pub peak: Bytes,
    /// Whether that fits the budget.
    pub fits: bool,
}

impl OverBudget {
    /// Looks for what would help.
    pub(crate) fn explain(prepared: &Prepared, budget: Bytes, allowed: Allowed) -> Self {
        let usage = prepared.usage();
        let remedies = remedies(&prepared.job.with_lanes(1), budget, allowed);
        let (peak, floor, least) = (prepared.peak(), prepared.floor(), prepared.least);
        Self { budget, peak, least, floor, usage, remedies }
    }

    /// The largest things that are live at the floor.
    pub fn largest(&self, count: usize) -> &[Holding] {
        &self.usage.live[..count.min(self.usage.live.len())]
    }

    /// What would help: changes that were planned, those that fit first.
    pub fn hint(&self) -> Hint {
        let mut changes: Vec<PlannedChange> = self.remedies.iter().filter_map(planned).collect();
        changes.sort_by_key(|change| !change.fits);
        Hint::Changes(changes)
    }
}

fn planned(remedy: &Outlook) -> Option<PlannedChange> {
    let Outlook { change, peak, fits } = *remedy;
    Setting::of(change).map(|setting| PlannedChange { setting, peak_bytes: peak, fits })
}

/// Changes that bring the peak down, each planned with values computed again where that is needed.
fn remedies(job: &Job, budget: Bytes, allowed: Allowed) -> Vec<Outlook> {
    let wanted = Lever::of(Home::Plimsoll).rev().filter(|lever| !allowed.is_withheld(*lever));
    let changes: Vec<Change> = wanted.flat_map(|lever| changes(lever, job, budget)).collect();
    let aim = match allowed.is_withheld(Lever::Recompute) {
        true => Aim::WHATEVER,
        false => Aim::quickly_within(budget),
    };
    let planned = side_by_side(changes, |change| {
        let peak = Prepared::new(&job.with(change)?, aim, &Residents::default()).ok()?.peak();
        Some(Outlook { change, peak, fits: peak <= budget })
    });
    let mut remedies: Vec<Outlook> = planned.into_iter().flatten().collect();
    // The largest batch that fits says enough; if none does, a single sample shows how far off it is.
    let is_batch = |remedy: &Outlook| remedy.change.lever() == Lever::Batch;
    let batches: Vec<Outlook> = remedies.iter().copied().filter(is_batch).collect();
    let batch = batches.iter().find(|remedy| remedy.fits).or(batches.last());
    remedies.retain(|remedy| !is_batch(remedy) || Some(remedy) == batch);
    remedies
}

/// What a lever could do for a job that does not fit although all that is exact was tried.
fn changes(lever: Lever, job: &Job, budget: Bytes) -> Vec<Change> {
    match lever {
        Lever::Batch => smaller_batches(job, budget),
        Lever::Optimizer => lever.changes(job.choices()).collect(),
        // The search has tried these as far as they may be used.
        Lever::Ready | Lever::InPlace | Lever::Recompute | Lever::Accumulate | Lever::Threads => Vec::new(),
        // No levers of Plimsoll.
        Lever::Graph | Lever::Region | Lever::Precision => Vec::new(),
    }
}

/// How often the batch is halved in search of one that fits by computing values again.
const HALVES: usize = 6;

/// Halves down to the largest batch that fits without computing anything again, or to a single sample.
fn smaller_batches(job: &Job, budget: Bytes) -> Vec<Change> {
    let least = largest_batch(job, budget).unwrap_or(1);
    let halves = std::iter::successors(Some(job.batch / 2), |batch| Some(batch / 2));
    let halves = halves.take_while(|&batch| batch > least).take(HALVES);
    halves.chain([least]).filter(|&batch| batch < job.batch).map(Change::Batch).collect()
}

/// The largest smaller batch that fits without computing anything again. The peak grows with the batch, so halving the
/// range finds it.
fn largest_batch(job: &Job, budget: Bytes) -> Option<usize> {
    let fits = |batch: usize| Job { batch, ..job.clone() }.step_peak().is_ok_and(|peak| peak <= budget);
    let (mut low, mut high) = (0, job.batch);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    (low > 0).then_some(low)
}
