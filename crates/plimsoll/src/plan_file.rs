//! Plans on disk: what `fit` found, to be run by `train`.
//!
//! A file holds the job in words, and graph and plan of everything that runs in the arena: each size of micro-batch,
//! the updates, the evaluation. On reading nothing is planned. The model is lowered again; each graph must be proved to
//! compute what the model does, and all plans are proved again, together. What a file says twice must agree. What
//! cannot be proved does not run.

use crate::hint::{Call, Hint};
use crate::micro_batches::{self, MOST_MICRO_BATCHES};
use crate::planning::{Draft, Graphs, Planned};
use crate::{Bytes, Job, JobError, OnNan, Prepared, specification};
use plimsoll_graph::{Graph, text};
use plimsoll_model::Model;
use plimsoll_plan::{Options, Plan, Target, VerifiedPlan};
use plimsoll_state::{input_file, whole_file};
use plimsoll_tensorflow::RecipeFile;
use plimsoll_train::{Objective, Optimizer, Settings};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// The version of the form below.
const FORMAT: u32 = 4;

/// The largest file that is read as a plan. ResNet-50's has some megabytes.
pub const LARGEST_PLAN: Bytes = Bytes::mib(256);

/// A plan as it is written to disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// What surrounds it.
    #[serde(default)]
    pub settings: Settings,
    /// What happens to a step whose loss or gradients are not finite.
    #[serde(default)]
    pub on_nan: OnNan,
    /// Which ideas the plans use.
    pub options: Options,
    /// Threads that kernels run on.
    pub threads: usize,
    /// How many of them have scratch of their own; all, where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<usize>,
    /// What the plans are for, in words.
    pub target: Vec<(String, String)>,
    /// What may be used.
    pub budget: Bytes,
    /// What is used.
    pub peak: Bytes,
    /// For each size of micro-batch, its graph and plan.
    pub parts: Vec<SavedPlan>,
    /// What applies the gradients of micro-batches; nothing if the batch stays whole.
    pub updates: Option<SavedPlan>,
    /// What predicts a batch with the weights being trained.
    pub evaluation: SavedPlan,
}

/// One of the plans.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    /// How many samples it takes at once; none for updates.
    pub rows: usize,
    /// How often it runs in a step; not at all for the evaluation.
    pub times: usize,
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
    #[error("the plan is for another target: its {what} is {found}, here it is {wanted}")]
    OtherTarget { what: String, found: String, wanted: String },
}

impl PlanFile {
    /// What was prepared for a budget; `model` is how it was named.
    pub fn new(prepared: &Prepared, model: &str, budget: Bytes) -> Self {
        let job = &prepared.job;
        let sizes = prepared.sizes();
        let times = |rows: usize| sizes.iter().filter(|&&size| size == rows).count();
        let part = |part: &crate::MicroBatch| SavedPlan::new(part.rows, times(part.rows), &part.plan);
        let evaluation = &prepared.evaluation;
        Self {
            format: FORMAT,
            model: model.to_string(),
            batch: job.batch,
            micro_batches: job.micro_batches,
            objective: job.objective.clone(),
            optimizer: job.optimizer,
            settings: job.settings.clone(),
            on_nan: job.on_nan,
            options: job.options,
            threads: job.threads(),
            lanes: Some(job.lanes()).filter(|&lanes| lanes != job.threads()),
            target: facts(&job.target()),
            budget,
            peak: prepared.peak(),
            parts: prepared.parts.iter().map(part).collect(),
            updates: prepared.updates.as_ref().map(|updates| SavedPlan::new(0, 1, &updates.plan)),
            evaluation: SavedPlan::new(evaluation.batch, 0, &evaluation.plan),
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
        let failed = |error| PlanFileError::Io { path: name.clone(), error };
        let bytes = input_file::read(path, LARGEST_PLAN).map_err(failed)?;
        Ok(Self::parse(&bytes, &name)?.beside(path))
    }

    /// The plan of a file at this path, which names its model by the way from there.
    pub fn beside(self, path: &Path) -> Self {
        Self { model: specification::beside(&self.model, path), ..self }
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
        self.check_sizes()?;
        let job = Job {
            objective: self.objective.clone(),
            optimizer: self.optimizer,
            settings: self.settings.clone(),
            micro_batches: self.micro_batches,
            on_nan: self.on_nan,
            options: self.options,
            ..Job::new(model, self.batch).on_threads(self.threads.max(1))
        };
        let job = self.lanes.map_or(job.clone(), |lanes| job.with_lanes(lanes));
        self.check_target(&job.target())?;
        let prepared = Prepared::prove(&job, self.planned(&job)?, Bytes::ZERO)?;
        match prepared.peak() == self.peak {
            true => Ok(prepared),
            false => Err(damaged("peak", format!("{} instead of {}", self.peak, prepared.peak())).into()),
        }
    }

    /// What the file says of sizes agrees with itself. Nothing is lowered before, because absurd sizes take absurd
    /// time.
    fn check_sizes(&self) -> Result<(), PlanFileError> {
        let (batch, count) = (self.batch, self.micro_batches);
        if count == 0 || count > batch.clamp(1, MOST_MICRO_BATCHES) {
            return Err(damaged("micro-batches", format!("{count} of {batch}")));
        }
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for rows in micro_batches::sizes(batch, count) {
            match wanted.last_mut() {
                Some((last, times)) if *last == rows => *times += 1,
                _ => wanted.push((rows, 1)),
            }
        }
        let found: Vec<(usize, usize)> = self.parts.iter().map(|part| (part.rows, part.times)).collect();
        let updates = self.updates.as_ref().map(|updates| (updates.rows, updates.times));
        if found != wanted || updates != (count > 1).then_some((0, 1)) {
            return Err(damaged("micro-batches", format!("{found:?} instead of {wanted:?}")));
        }
        let evaluation = (self.evaluation.rows, self.evaluation.times);
        if evaluation.0 == 0 || evaluation.0 > batch || evaluation.1 != 0 {
            return Err(damaged("evaluation", format!("{evaluation:?}")));
        }
        match self.peak <= self.budget {
            true => Ok(()),
            false => Err(damaged("budget", format!("{}, less than its peak", self.budget))),
        }
    }

    fn check_target(&self, target: &Target) -> Result<(), PlanFileError> {
        let here = facts(target);
        if self.target.len() != here.len() {
            return Err(damaged("target", format!("{:?}", self.target)));
        }
        match self.target.iter().zip(here).find(|(found, wanted)| **found != *wanted) {
            None => Ok(()),
            Some(((what, found), (_, wanted))) => {
                let [what, found] = [what, found].map(String::clone);
                Err(PlanFileError::OtherTarget { what, found, wanted })
            }
        }
    }

    /// The graphs and plans of the file, where the graphs are proved to be those of the job.
    fn planned(&self, job: &Job) -> Result<Planned, JobError> {
        let Graphs { training, parts: graphs, updates } = job.graphs()?;
        let mut parts = Vec::with_capacity(graphs.len());
        for ((rows, graph), saved) in graphs.iter().zip(&self.parts) {
            let rewritten = text::parse(&saved.graph).map_err(|error| damaged("graph", error.to_string()))?;
            let draft = Draft::new(*rows, graph, rewritten, saved.plan.clone());
            parts.push(draft.map_err(|error| self.explain(error))?);
        }
        let updates = updates.zip(self.updates.as_ref());
        let updates = updates.map(|(updates, saved)| {
            self.check_text(&updates.graph, &saved.graph).map(|()| (updates, saved.plan.clone()))
        });
        let evaluation = job.evaluation_graph(&training, self.evaluation.rows)?;
        self.check_text(&evaluation.graph, &self.evaluation.graph)?;
        let evaluation = (self.evaluation.rows, evaluation, self.evaluation.plan.clone());
        Ok(Planned { training, parts, updates: updates.transpose()?, evaluation })
    }

    /// Graphs in which nothing is ever computed again are the same line by line.
    fn check_text(&self, graph: &Graph, saved: &str) -> Result<(), PlanFileError> {
        let here = text::print(graph);
        if here == saved {
            return Ok(());
        }
        let differ = here.lines().zip(saved.lines()).find(|(here, there)| here != there);
        let reason = differ.map_or("a graph is longer or shorter".to_string(), |(here, there)| {
            format!("`{here}` was `{there}`")
        });
        Err(PlanFileError::OtherModel { model: self.model.clone(), reason })
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

impl SavedPlan {
    fn new(rows: usize, times: usize, plan: &VerifiedPlan) -> Self {
        Self { rows, times, graph: text::print(plan.graph()), plan: plan.plan().clone() }
    }
}

fn damaged(what: &'static str, problem: String) -> PlanFileError {
    PlanFileError::Damaged { what, problem }
}

/// What plans depend on, in words.
fn facts(target: &Target) -> Vec<(String, String)> {
    target.facts().map(|(what, value)| (what.to_string(), value)).to_vec()
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
            Self::NotAPlan { .. }
            | Self::Format { .. }
            | Self::Damaged { .. }
            | Self::OtherModel { .. }
            | Self::OtherTarget { .. } => Call::PlanAgain,
        })
    }
}
