//! What was found in a log of running out of memory, with the model that ran: who its large chunks are, and a plan that
//! fits.

use crate::identify::{Identified, identify};
use crate::{Allowed, Bytes, Hint, Job, JobError, Prepared, fit};
use plimsoll_import::oomlog::Log;
use plimsoll_report::diagnosis::{Ask, Diagnosis, diagnose};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many sizes of chunks are identified.
const IDENTIFIED: usize = 12;

/// What was found in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// Each report, diagnosed.
    pub diagnoses: Vec<Diagnosis>,
    /// How many more reports there were.
    pub skipped: u64,
    /// How often TensorFlow wanted memory and did without.
    pub did_without: u64,
    /// For each diagnosis, the model beside it; nothing where no model was named.
    pub models: Vec<ModelFindings>,
}

/// A model beside a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelFindings {
    /// The model's name.
    pub model: String,
    /// How many samples a step takes.
    pub batch: usize,
    /// What a planned step takes.
    pub planned_peak_bytes: Bytes,
    /// The limit that the report names.
    pub limit_bytes: Option<Bytes>,
    /// Whether a planned step fits it, as it is or squeezed.
    pub fits: Option<bool>,
    /// A plan that fits although the step as it is does not.
    pub squeezed: Option<Squeezed>,
    /// What would make a plan fit, where none does, as a door words it; none until it has.
    pub hint: Option<String>,
    /// The same as a value.
    pub remedy: Option<Hint>,
    /// Who the large chunks are.
    pub chunks: Vec<ChunkFindings>,
}

/// A plan that fits a limit because something is computed again or the batch is cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Squeezed {
    /// What it takes.
    pub peak_bytes: Bytes,
    /// Time beyond that of the step as written.
    pub extra_time_fraction: f64,
    /// Into how many micro-batches the batch is cut.
    pub micro_batches: usize,
}

/// Chunks of one size, and the values of a step that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChunkFindings {
    /// The size of each.
    pub chunk_bytes: Bytes,
    /// How many are in use.
    pub chunks: u64,
    /// Whether the values have just this size.
    pub exact: bool,
    /// How many values there are, by role.
    pub roles: BTreeMap<String, usize>,
    /// The names of some.
    pub values: Vec<String>,
}

impl Findings {
    /// Diagnoses a log; a model that is named is planned for the limits that its reports name.
    pub fn of(log: Log, model: Option<&Job>) -> Result<Self, JobError> {
        let prepared = model.map(Job::prepare).transpose()?;
        let (skipped, did_without) = (log.skipped, log.did_without);
        let diagnoses = diagnose(log);
        let models = prepared.map_or_else(Vec::new, |prepared| beside(&prepared, &diagnoses));
        Ok(Self { diagnoses, skipped, did_without, models })
    }

    /// Whether even a planned step does not fit.
    pub fn is_hopeless(&self) -> bool {
        self.models.iter().any(|model| model.fits == Some(false))
    }

    /// The same in a door's words.
    pub fn worded(mut self, ask: impl Fn(Ask) -> String, hint: impl Fn(&Hint) -> String) -> Self {
        self.diagnoses = self.diagnoses.into_iter().map(|diagnosis| diagnosis.worded(&ask)).collect();
        self.models.iter_mut().for_each(|model| model.hint = model.remedy.as_ref().map(&hint));
        self
    }
}

fn beside(prepared: &Prepared, diagnoses: &[Diagnosis]) -> Vec<ModelFindings> {
    let limit = |diagnosis: &Diagnosis| diagnosis.dump.limit.map(|limit| limit.size());
    let limits: BTreeSet<Bytes> = diagnoses.iter().filter_map(limit).collect();
    let short = limits.into_iter().filter(|limit| prepared.peak() > *limit);
    let plans: BTreeMap<Bytes, Result<Squeezed, Hint>> =
        short.map(|limit| (limit, squeezed(prepared, limit))).collect();
    let find = |diagnosis: &Diagnosis| {
        let limit = limit(diagnosis);
        let plan = limit.and_then(|limit| plans.get(&limit));
        let known = identify(&diagnosis.dump, prepared.step().graph(), IDENTIFIED);
        ModelFindings {
            model: prepared.job.model.name.clone(),
            batch: prepared.job.batch,
            planned_peak_bytes: prepared.peak(),
            limit_bytes: limit,
            fits: limit.map(|_| !matches!(plan, Some(Err(_)))),
            squeezed: plan.and_then(|plan| plan.as_ref().ok()).copied(),
            hint: None,
            remedy: plan.and_then(|plan| plan.as_ref().err()).cloned(),
            chunks: known.into_iter().map(chunk).collect(),
        }
    };
    diagnoses.iter().map(find).collect()
}

fn squeezed(prepared: &Prepared, limit: Bytes) -> Result<Squeezed, Hint> {
    let failed = |error: JobError| error.hint().unwrap_or_else(|| Hint::Say(error.to_string()));
    let found = fit(&prepared.job, limit, Allowed::EXACT).map_err(failed)?;
    let (plan, extra_time_fraction) = (&found.prepared, found.extra_time());
    Ok(Squeezed { peak_bytes: plan.peak(), extra_time_fraction, micro_batches: plan.job.micro_batches })
}

fn chunk(known: Identified) -> ChunkFindings {
    ChunkFindings {
        chunk_bytes: known.bytes,
        chunks: known.count,
        exact: known.exact,
        roles: known.roles.iter().map(|(role, count)| (role.to_string(), *count)).collect(),
        values: known.values,
    }
}
