//! What to tell TensorFlow so that a step fits, as a request and as a report.

use super::PredictRequest;
use crate::fit_request::usual_path;
use crate::specification::relative_to;
use crate::{Bytes, Job, JobError, Note, OpenedJob, RequestError};
use plimsoll_state::whole_file;
use plimsoll_tensorflow::{Needs, RecipeFile, Search, Trial, largest_batch, search};
use plimsoll_trace::visible;
use plimsoll_train::Allowed;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// A recipe for TensorFlow as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RecipeRequest {
    /// The step, how TensorFlow would run it, and what may be used.
    pub step: PredictRequest,
    /// What is looked for.
    pub goal: RecipeGoal,
    /// Where the recipe is written; without it, beside us under the model's name.
    pub output: Option<PathBuf>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecipeGoal {
    /// The fewest changes that fit, with levers that change numbers as far as they are allowed.
    FewestChanges(Allowed),
    /// The largest batch of one step, with everything else as it is written.
    LargestBatch,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecipeReport {
    /// What the step is, in a line.
    #[serde(skip)]
    pub headline: String,
    /// The model's name.
    pub model: String,
    /// How many samples a step takes as written.
    pub batch: usize,
    /// Who runs it.
    #[serde(rename = "as")]
    pub framework: &'static str,
    /// Where.
    pub device: &'static str,
    /// What may be used.
    pub budget_bytes: Bytes,
    /// Whether something fits.
    pub fits: bool,
    /// What fits.
    pub found: Option<TrialReport>,
    /// What takes least of all that was looked at.
    pub nearest: TrialReport,
    /// All that was looked at, in order; the first is the step as written.
    pub trials: Vec<TrialReport>,
    /// What levers that were not allowed would give.
    pub advice: Vec<AdvisedReport>,
    /// Where the recipe was written, if something fits.
    pub plan: Option<PathBuf>,
    /// What the caller should know.
    #[serde(skip)]
    pub notes: Vec<Note>,
}

/// A recipe that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialReport {
    /// What is different from the step as written.
    pub changes: Vec<String>,
    /// Samples between two updates.
    pub batch: usize,
    /// In how many steps.
    pub accumulate: u32,
    /// What layers compute in.
    pub precision: &'static str,
    /// The optimizer's name.
    pub optimizer: String,
    /// How the step is run.
    pub mode: &'static str,
    /// Whether the allocator grows region by region.
    pub growth: bool,
    /// What tensors ask for.
    pub live_peak_bytes: Option<Bytes>,
    /// The same as chunks of TensorFlow's allocator.
    pub reported_peak_bytes: Option<Bytes>,
    /// The limit that is predicted to work.
    pub smallest_limit_bytes: Option<Bytes>,
    /// What is kept in hand above it, because predictions may be too low.
    pub in_hand_bytes: Option<Bytes>,
    /// Input that waits in the same pool.
    pub waiting_bytes: Option<Bytes>,
    /// What lies beside the pool: allowances, not measured.
    pub beside_bytes: Option<Bytes>,
    /// All of it; nothing where no limit works.
    pub needed_bytes: Option<Bytes>,
    /// Whether it fits.
    pub fits: bool,
}

/// What a lever that was not allowed would give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdvisedReport {
    /// The lever's name.
    pub lever: &'static str,
    /// The mildest of its changes that fits, or the nearest.
    #[serde(flatten)]
    pub trial: TrialReport,
}

impl RecipeRequest {
    /// Searches, and writes what fits.
    pub fn run(&self) -> Result<RecipeReport, RequestError> {
        let opened = self.step.job.open()?;
        let (written, notes) = (self.step.recipe(&opened)?, self.step.notes(&opened));
        let as_compiled = self.is_as_compiled(&opened);
        let OpenedJob { job, .. } = opened;
        let budget = self.step.memory.unwrap_or(Bytes(u64::MAX));
        let found = match self.goal {
            RecipeGoal::FewestChanges(allowed) => search(&job.model, &written, budget, allowed),
            RecipeGoal::LargestBatch => largest_batch(&job.model, &written, budget),
        };
        let found = found.map_err(JobError::from)?;
        let plan = self.write(&found, budget, as_compiled)?;
        Ok(RecipeReport { notes, plan, ..RecipeReport::of(&found, budget, &job) })
    }

    /// Whether loss and optimizer are those of the model's file.
    fn is_as_compiled(&self, opened: &OpenedJob) -> bool {
        let compiled = opened.keras.as_ref().map(|keras| &keras.compiled);
        let is_whole = compiled.is_some_and(|one| one.optimizer.is_some() && one.loss.is_some());
        is_whole && self.step.job.optimizer.is_none() && self.step.job.loss.is_none()
    }

    fn write(
        &self,
        found: &Search,
        budget: Bytes,
        as_compiled: bool,
    ) -> Result<Option<PathBuf>, RequestError> {
        let Some((trial, needs)) = found.recipe() else { return Ok(None) };
        let model = &self.step.job.model;
        let path = self.output.clone().unwrap_or_else(|| usual_path(model));
        let file = RecipeFile::new(&relative_to(model, &path), budget, trial.recipe, needs.clone());
        // A lever may have changed the optimizer; what it is changed to has its own settings.
        let same = trial.recipe.setup.optimizer == found.trials[0].recipe.setup.optimizer;
        let file = RecipeFile { as_compiled: as_compiled && same, ..file };
        let text = serde_json::to_string_pretty(&file).expect("a recipe is plain data");
        whole_file::write(&path, |file| file.write_all(text.as_bytes()))
            .map_err(|error| RequestError::Unwritable { path: path.clone(), error })?;
        Ok(Some(path))
    }
}

impl RecipeReport {
    fn of(found: &Search, budget: Bytes, job: &Job) -> Self {
        let setup = &found.trials[0].recipe.setup;
        let (precision, mode, device) = (setup.precision.name(), setup.mode.name(), setup.device.name());
        let headline = format!(
            "{} · batch {} · {} · {precision} · {mode} mode · in TensorFlow on a {device}",
            visible::line(&job.model.name),
            found.trials[0].recipe.batch,
            setup.optimizer
        );
        let trial = |trial: &Trial| TrialReport::of(trial, budget);
        let advised = found.advice.iter();
        Self {
            headline,
            model: job.model.name.clone(),
            batch: found.trials[0].recipe.rows(),
            framework: "tensorflow",
            device,
            budget_bytes: budget,
            fits: found.found.is_some(),
            found: found.recipe().map(|(found, _)| trial(found)),
            nearest: trial(found.nearest()),
            trials: found.trials.iter().map(trial).collect(),
            advice: advised
                .map(|one| AdvisedReport { lever: one.lever.name(), trial: trial(&one.trial) })
                .collect(),
            plan: None,
            notes: Vec::new(),
        }
    }
}

impl TrialReport {
    fn of(trial: &Trial, budget: Bytes) -> Self {
        let setup = &trial.recipe.setup;
        let figure = |of: fn(&Needs) -> Bytes| trial.needs.as_ref().map(of);
        Self {
            changes: trial.changes.iter().map(|&change| trial.describe(change)).collect(),
            batch: trial.recipe.batch,
            accumulate: setup.accumulate,
            precision: setup.precision.name(),
            optimizer: setup.optimizer.name().to_string(),
            mode: setup.mode.name(),
            growth: trial.recipe.growth,
            live_peak_bytes: figure(|needs| needs.live),
            reported_peak_bytes: figure(|needs| needs.reported),
            smallest_limit_bytes: figure(|needs| needs.limit),
            in_hand_bytes: figure(|needs| needs.in_hand()),
            waiting_bytes: figure(|needs| needs.waiting),
            beside_bytes: figure(|needs| needs.beside),
            needed_bytes: figure(Needs::total),
            fits: trial.fits(budget),
        }
    }
}
