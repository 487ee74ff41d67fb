//! A plan that does not fit its budget: what is in the way, and what would help, each with a figure that was planned.

use crate::{Bytes, Job, Prepared};
use plimsoll_plan::{Holding, Usage};
use plimsoll_train::Optimizer;

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

fn remedies(job: &Job, budget: Bytes) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let mut consider = |change: String, job: &Job| {
        if let Ok(peak) = job.step_peak() {
            remedies.push(Remedy { change, peak, fits: peak <= budget });
        }
    };
    if let Some(batch) = largest_batch(job, budget).or((job.batch > 1).then_some(1)) {
        consider(format!("--batch {batch}"), &Job { batch, ..job.clone() });
    }
    let leaner = [Optimizer::parse("momentum"), Optimizer::parse("sgd")].into_iter().flatten();
    for optimizer in leaner.filter(|other| other.slots().len() < job.optimizer.slots().len()) {
        consider(format!("--optimizer {optimizer}"), &Job { optimizer, ..job.clone() });
    }
    if job.threads > 1 {
        consider("--threads 1".to_string(), &Job { threads: 1, ..job.clone() });
    }
    remedies
}

/// The largest smaller batch that fits. The peak grows with the batch, so halving the range finds it.
fn largest_batch(job: &Job, budget: Bytes) -> Option<usize> {
    let fits = |batch: usize| Job { batch, ..job.clone() }.step_peak().is_ok_and(|peak| peak <= budget);
    let (mut low, mut high) = (0, job.batch);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    (low > 0).then_some(low)
}
