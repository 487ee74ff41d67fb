//! A plan that does not fit its budget: what is in the way, and what would help, each with a figure that was planned.

use crate::fit::side_by_side;
use crate::prepared::Aim;
use crate::{Bytes, Job, Prepared};
use plimsoll_plan::{Holding, Residents, Usage};

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
    pub remedies: Vec<Remedy>,
}

/// A change to the job and the peak it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// As it is written on the command line.
    pub change: String,
    /// The peak with it.
    pub peak: Bytes,
    /// Whether that fits the budget.
    pub fits: bool,
}

impl OverBudget {
    /// Looks for what would help.
    pub(crate) fn explain(prepared: &Prepared, budget: Bytes) -> Self {
        let usage = prepared.usage();
        let remedies = remedies(&prepared.job, budget);
        let (peak, floor, least) = (prepared.peak(), prepared.floor(), prepared.least);
        Self { budget, peak, least, floor, usage, remedies }
    }

    /// The largest things that are live at the floor.
    pub fn largest(&self, count: usize) -> &[Holding] {
        &self.usage.live[..count.min(self.usage.live.len())]
    }

    /// What would help, in a sentence.
    pub fn hint(&self) -> String {
        let list = |fits: bool| {
            let matching = self.remedies.iter().filter(|remedy| remedy.fits == fits);
            matching
                .map(|remedy| format!("{} ({})", remedy.change, remedy.peak))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (list(true).as_str(), list(false).as_str()) {
            ("", "") => "nothing this version can do brings it down: a smaller model is needed".to_string(),
            ("", others) => format!("no single change is enough; the nearest are {others}"),
            (fitting, _) => format!("these fit: {fitting}"),
        }
    }
}

/// How often the batch is halved in search of one that fits by computing values again.
const HALVES: usize = 6;

/// Changes that bring the peak down, each planned with values computed again where that is needed.
fn remedies(job: &Job, budget: Bytes) -> Vec<Remedy> {
    let mut changes: Vec<(String, Job)> = Vec::new();
    for optimizer in job.optimizer.leaner() {
        changes.push((format!("--optimizer {optimizer}"), Job { optimizer, ..job.clone() }));
    }
    if job.backend.cpu().is_some_and(|cpu| cpu.threads > 1) {
        changes.push(("--threads 1".to_string(), job.clone().on_threads(1)));
    }
    let least = largest_batch(job, budget).unwrap_or(1);
    let halves = std::iter::successors(Some(job.batch / 2), |batch| Some(batch / 2));
    let halves = halves.take_while(|&batch| batch > least).take(HALVES);
    let batches: Vec<usize> = halves.chain([least]).collect();
    let batches = batches.into_iter().filter(|&batch| batch < job.batch);
    changes.extend(batches.map(|batch| (format!("--batch {batch}"), Job { batch, ..job.clone() })));
    let planned = side_by_side(changes, |(change, job)| {
        let made = Prepared::new(&job, Aim::quickly_within(budget), &Residents::default());
        made.ok().map(|made| (job.batch, Remedy { change, peak: made.peak(), fits: made.peak() <= budget }))
    });
    let (batches, mut remedies): (Vec<_>, Vec<_>) =
        planned.into_iter().flatten().partition(|(batch, _)| *batch < job.batch);
    // The largest batch that fits says enough; if none does, a single sample shows how far off it is.
    let batch = batches.iter().find(|(_, remedy)| remedy.fits).or(batches.last()).cloned();
    remedies.splice(0..0, batch);
    remedies.into_iter().map(|(_, remedy)| remedy).collect()
}

/// The largest smaller batch that fits without computing anything again. The peak grows with the batch, so halving the range finds it.
fn largest_batch(job: &Job, budget: Bytes) -> Option<usize> {
    let fits = |batch: usize| Job { batch, ..job.clone() }.step_peak().is_ok_and(|peak| peak <= budget);
    let (mut low, mut high) = (0, job.batch);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    (low > 0).then_some(low)
}
