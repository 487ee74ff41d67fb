//! Plans on disk: what `fit` found, to be run by `train`.
//!
//! A file holds the job in words, and for each micro-batch its graph and its plan. On reading, the model is lowered again; each graph must be
//! proved to compute what the model does, and each plan is proved again. What cannot be proved does not run.

use crate::hint::{Call, Hint};
use crate::parts::MOST_PARTS;
use crate::prepared::{Draft, Graphs};
use crate::{Bytes, Job, JobError, OnNan, Prepared};
use plimsoll_graph::text;
use plimsoll_model::Model;
use plimsoll_plan::{Options, Plan};
use plimsoll_state::whole_file;
use plimsoll_tensorflow::RecipeFile;
use plimsoll_train::{Objective, Optimizer};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// The version of the form below.
const FORMAT: u32 = 2;

/// A plan as it is written to disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanFile {
    /// The version of this form.
    pub format: u32,
    /// The model as it was named.
    pub model: String,
    /// Samples in a step.
    pub batch: usize,
    /// Into how many micro-batches they are cut.
    pub micro_batches: usize,
    /// What is minimized.
    pub objective: Objective,
    /// How.
    pub optimizer: Optimizer,
    /// What happens to a step whose loss or gradients are not finite.
    #[serde(default)]
    pub on_nan: OnNan,
    /// Which ideas the plans use.
    pub options: Options,
    /// Threads that kernels run on.
    pub threads: usize,
    /// What may be used.
    pub budget: Bytes,
    /// What is used.
    pub peak: Bytes,
    /// For each size of micro-batch, its graph and plan.
    pub parts: Vec<PartFile>,
}

/// One micro-batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartFile {
    /// How many samples.
    pub rows: usize,
    /// The graph as text.
    pub graph: String,
    /// The plan.
    pub plan: Plan,
}

/// Why a plan on disk cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum PlanFileError {
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
    #[error("{path} is not a plan: {error}")]
    NotAPlan { path: String, error: serde_json::Error },
    #[error("{path} is a plan for TensorFlow, not for Plimsoll")]
    ForTensorFlow { path: String },
    #[error("{path} has the format {found}; this version reads {FORMAT}")]
    Format { path: String, found: u32 },
    #[error("the plan's {what} cannot be read: {problem}")]
    Damaged { what: &'static str, problem: String },
    #[error("the plan is for another model than `{model}` is now: {reason}")]
    OtherModel { model: String, reason: String },
}

impl PlanFile {
    /// What was prepared for a budget; `model` is how it was named.
    pub fn new(prepared: &Prepared, model: &str, budget: Bytes) -> Self {
        let job = &prepared.job;
        let part = |part: &crate::Part| PartFile {
            rows: part.rows,
            graph: text::print(part.plan.graph()),
            plan: part.plan.plan().clone(),
        };
        Self {
            format: FORMAT,
            model: model.to_string(),
            batch: job.batch,
            micro_batches: job.micro_batches,
            objective: job.objective.clone(),
            optimizer: job.optimizer,
            on_nan: job.on_nan,
            options: job.options,
            threads: job.backend.cpu().map_or(1, |cpu| cpu.threads),
            budget,
            peak: prepared.peak(),
            parts: prepared.parts.iter().map(part).collect(),
        }
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), PlanFileError> {
        let failed = |error| PlanFileError::Io { path: path.display().to_string(), error };
        let text = serde_json::to_string(self).expect("a plan is plain data");
        whole_file::write(path, |file| file.write_all(text.as_bytes())).map_err(failed)
    }

    /// Reads one.
    pub fn read(path: &Path) -> Result<Self, PlanFileError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| PlanFileError::Io { path: name.clone(), error })?;
        Self::parse(&bytes, &name)
    }

    /// Reads one from the bytes of a file; `name` is what errors call it.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, PlanFileError> {
        if RecipeFile::is_one(bytes) {
            return Err(PlanFileError::ForTensorFlow { path: name.to_string() });
        }
        let not_a_plan = |error| PlanFileError::NotAPlan { path: name.to_string(), error };
        let header: Header = serde_json::from_slice(bytes).map_err(not_a_plan)?;
        if header.format != FORMAT {
            return Err(PlanFileError::Format { path: name.to_string(), found: header.format });
        }
        serde_json::from_slice(bytes).map_err(not_a_plan)
    }

    /// Proves it for a model: the one it names, as it is now.
    pub fn prepare(&self, model: Model) -> Result<Prepared, JobError> {
        let damaged = |what, problem: String| PlanFileError::Damaged { what, problem };
        if self.micro_batches == 0 || self.micro_batches > self.batch.clamp(1, MOST_PARTS) {
            return Err(damaged("micro-batches", format!("{} of {}", self.micro_batches, self.batch)).into());
        }
        let job = Job {
            objective: self.objective.clone(),
            optimizer: self.optimizer,
            micro_batches: self.micro_batches,
            on_nan: self.on_nan,
            options: self.options,
            ..Job::new(model, self.batch).on_threads(self.threads.max(1))
        };
        let Graphs { training, parts: graphs, updates } = job.graphs()?;
        if graphs.len() != self.parts.len() {
            return Err(damaged(
                "micro-batches",
                format!("{} instead of {}", self.parts.len(), graphs.len()),
            )
            .into());
        }
        let mut parts = Vec::with_capacity(graphs.len());
        for ((rows, graph), saved) in graphs.iter().zip(&self.parts) {
            let rewritten = text::parse(&saved.graph).map_err(|error| damaged("graph", error.to_string()))?;
            let draft = Draft::new(*rows, graph, rewritten, saved.plan.clone());
            parts.push(draft.map_err(|error| self.explain(error))?);
        }
        Prepared::complete(&job, training, parts, updates, Bytes::ZERO)
    }

    /// A graph that computes something else means that the model has changed.
    fn explain(&self, error: JobError) -> JobError {
        match error {
            JobError::Recomputation(difference) => {
                let (model, reason) = (self.model.clone(), difference.to_string());
                PlanFileError::OtherModel { model, reason }.into()
            }
            other => other,
        }
    }
}

/// What is looked at before anything else.
#[derive(Deserialize)]
struct Header {
    format: u32,
}

impl PlanFileError {
    /// What would help.
    pub fn hint(&self) -> Hint {
        Hint::Call(match self {
            Self::Io { .. } => Call::WritePlan,
            Self::ForTensorFlow { path } => Call::ExportPlan(path.into()),
            Self::NotAPlan { .. } | Self::Format { .. } | Self::Damaged { .. } | Self::OtherModel { .. } => {
                Call::PlanAgain
            }
        })
    }
}
