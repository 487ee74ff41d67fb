//! The way from a model as written to a plan that fits.

use super::by_role;
use crate::{Bytes, Fit, Note, Outlook, Point, Stage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The way from a model as written to a plan that fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// What the step is, in a line.
    pub headline: String,
    /// The model's name.
    pub model: String,
    /// How many samples a step takes.
    pub batch: usize,
    /// The optimizer's name.
    pub optimizer: String,
    /// What may be used.
    pub budget_bytes: Bytes,
    /// Whether the plan fits; what does not is a failure.
    pub fits: bool,
    /// What the model as written takes.
    pub as_written_peak_bytes: Bytes,
    /// What the plan takes.
    pub peak_bytes: Bytes,
    /// The most bytes live at once.
    pub floor_bytes: Bytes,
    /// The difference.
    pub fragmentation_bytes: Bytes,
    /// Live bytes at the peak of a step by role; what lives across steps is that of all its graphs.
    pub by_role: BTreeMap<String, Bytes>,
    /// Floating-point operations beyond those of the model as written.
    pub extra_flops_fraction: f64,
    /// Time beyond that of the model as written.
    pub extra_time_fraction: f64,
    /// How long a step should take.
    pub seconds_per_step: f64,
    /// Whether times were measured on this machine.
    pub calibrated: bool,
    /// Into how many micro-batches a batch is cut.
    pub micro_batches: usize,
    /// How the numbers differ from those of the model as written, if they do.
    pub changes: Option<String>,
    /// What each lever came to.
    pub levers: Vec<StageReport>,
    /// Other plans of the same step.
    pub frontier: Vec<PointReport>,
    /// What was not allowed but would bring the peak down.
    pub advice: Vec<AdviceReport>,
    /// Where the plan was written.
    pub plan: PathBuf,
    /// What the caller should know.
    pub notes: Vec<Note>,
}

/// The step after one more lever.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// The lever.
    pub lever: String,
    /// The peak with it.
    pub peak_bytes: Bytes,
    /// How long a step should take.
    pub seconds: f64,
    /// What it does.
    pub note: String,
}

/// A plan as memory against time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PointReport {
    /// Its peak.
    pub peak_bytes: Bytes,
    /// How long a step should take.
    pub seconds: f64,
    /// Floating-point operations beyond those of the model as written.
    pub extra_flops_fraction: f64,
}

/// A change that was not allowed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceReport {
    /// The lever that would have to be allowed.
    pub lever: &'static str,
    /// What it would change.
    pub change: String,
    /// The peak with it.
    pub peak_bytes: Bytes,
    /// Whether that fits.
    pub fits: bool,
}

impl FitReport {
    /// The report of a search whose plan was written.
    pub fn of(found: &Fit, plan: PathBuf) -> Self {
        let prepared = &found.prepared;
        let mut held = prepared.usage().by_role;
        held.extend(prepared.persistent_by_role());
        Self {
            headline: prepared.headline(),
            model: prepared.job.model.name.clone(),
            batch: prepared.job.batch,
            optimizer: prepared.job.optimizer.name().to_string(),
            budget_bytes: found.budget,
            fits: true,
            as_written_peak_bytes: found.as_written().peak,
            peak_bytes: prepared.peak(),
            floor_bytes: prepared.floor(),
            fragmentation_bytes: prepared.peak().saturating_sub(prepared.floor()),
            by_role: by_role(&held),
            extra_flops_fraction: prepared.extra_flops(),
            extra_time_fraction: found.extra_time(),
            seconds_per_step: prepared.seconds(),
            calibrated: prepared.job.profile.calibrated,
            micro_batches: prepared.job.micro_batches,
            changes: found.different_numbers(),
            levers: found.stages.iter().map(stage).collect(),
            frontier: found.frontier.iter().map(point).collect(),
            advice: found.advice.iter().map(|remedy| advice(remedy, found)).collect(),
            plan,
            notes: Vec::new(),
        }
    }
}

fn stage(stage: &Stage) -> StageReport {
    let Stage { change, peak, seconds, note } = stage;
    let lever = change.map_or("as written".to_string(), |change| change.to_string());
    StageReport { lever, peak_bytes: *peak, seconds: *seconds, note: note.clone() }
}

fn point(point: &Point) -> PointReport {
    let Point { peak, seconds, extra_flops } = *point;
    PointReport { peak_bytes: peak, seconds, extra_flops_fraction: extra_flops }
}

fn advice(remedy: &Outlook, found: &Fit) -> AdviceReport {
    let (lever, change) = (remedy.change.lever().name(), found.describe(remedy.change));
    AdviceReport { lever, change, peak_bytes: remedy.peak, fits: remedy.fits }
}
