//! What was found in a log of running out of memory, with the model that ran: who its large chunks are, and a plan that
//! fits.

use crate::identify::{Identified, identify};
use crate::{Allowed, Bytes, Hint, Job, JobError, Prepared, fit};
use plimsoll_import::oomlog::{Dump, Figure, Log};
use plimsoll_report::diagnosis::{Ask, Diagnosis, PlannedStep, diagnose, json};
use serde::Serialize;
use serde_json::{Value, json};
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
    /// Diagnoses a log. A device or host has `memory` where a report does not say what it has; a model that is named is
    /// planned for the limits of the reports, and its plan decides.
    pub fn of(mut log: Log, model: Option<&Job>, memory: Option<Bytes>) -> Result<Self, JobError> {
        let prepared = model.map(Job::prepare).transpose()?;
        let (skipped, did_without) = (log.skipped, log.did_without);
        let unsaid = log.dumps.iter_mut().filter(|dump| dump.limit.is_none());
        if let Some(memory) = memory {
            unsaid.for_each(|dump| complete(dump, memory));
        }
        let diagnoses = diagnose(log);
        let models = prepared.map_or_else(Vec::new, |prepared| beside(&prepared, &diagnoses));
        let decided = |(index, diagnosis): (usize, Diagnosis)| match models.get(index).and_then(planned) {
            Some(step) => diagnosis.beside(&step),
            None => diagnosis,
        };
        let diagnoses = diagnoses.into_iter().enumerate().map(decided).collect();
        Ok(Self { diagnoses, skipped, did_without, models })
    }

    /// All of it as one JSON object.
    pub fn json(&self) -> Value {
        let mut dumps: Vec<Value> = self.diagnoses.iter().map(json::print).collect();
        for (dump, model) in dumps.iter_mut().zip(&self.models) {
            dump["model"] = serde_json::to_value(model).expect("findings are plain data");
        }
        json!({"dumps": dumps, "skipped": self.skipped, "did_without": self.did_without})
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

/// A report whose device has so much.
fn complete(dump: &mut Dump, memory: Bytes) {
    dump.limit = Some(Figure::exact(memory.0));
    let said = ["the limit", "the device's capacity", "what the device has", "how much it might have held"];
    dump.missing.retain(|what| !said.contains(&what.as_str()));
}

/// The plan that decides, where there is something to hold it against.
fn planned(found: &ModelFindings) -> Option<PlannedStep> {
    let limit = found.limit_bytes?;
    let squeezed = found.squeezed.map(|squeezed| squeezed.peak_bytes);
    Some(PlannedStep {
        model: found.model.clone(),
        batch: found.batch,
        as_written: found.planned_peak_bytes,
        squeezed,
        limit,
    })
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
