//! A plan on disk as a script for TensorFlow, as it is asked for.

use crate::{Allowed, JobError, LARGEST_PLAN, Lever, PlanFile, PlanFileError, RequestError, specification};
use plimsoll_state::input_file;
use plimsoll_tensorflow::{Recipe, RecipeFile, Setup, script, search};
use std::path::PathBuf;

/// A script as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptRequest {
    /// The plan, Plimsoll's own or TensorFlow's.
    pub plan: PathBuf,
    /// Where the script will stand: it finds a model's file by the way from there.
    pub output: PathBuf,
}

impl ScriptRequest {
    /// The script.
    pub fn run(&self) -> Result<String, RequestError> {
        let mut file = self.recipe()?;
        file.model = specification::beside(&file.model, &self.plan);
        let model = specification::find(&file.model)?;
        file.model = specification::relative_to(&file.model, &self.output);
        Ok(script(&file, &model)?)
    }

    /// The recipe in the file, or one for the plan in it.
    pub fn recipe(&self) -> Result<RecipeFile, RequestError> {
        let json = input_file::read(&self.plan, LARGEST_PLAN)
            .map_err(|error| RequestError::UnreadablePlan { path: self.plan.clone(), error })?;
        match RecipeFile::is_one(&json) {
            true => RecipeFile::parse(&json)
                .map_err(|error| RequestError::Recipe { path: self.plan.clone(), error }),
            false => self.translated(&json),
        }
    }

    /// TensorFlow computes nothing again by itself, so a plan of Plimsoll's is searched anew with what TensorFlow has:
    /// the same batch, optimizer and budget, and at least as many micro-batches.
    fn translated(&self, json: &[u8]) -> Result<RecipeFile, RequestError> {
        let plan = PlanFile::parse(json, &self.plan.display().to_string())
            .map_err(|error: PlanFileError| JobError::from(error))?
            .beside(&self.plan);
        let model = specification::find(&plan.model)?;
        let equal = |parts: &usize| plan.batch.is_multiple_of(*parts);
        let accumulate = (plan.micro_batches.max(1)..=plan.batch).find(equal).unwrap_or(1) as u32;
        let loss = plan.objective.only_loss(model.outputs.len()).ok_or(RequestError::SeveralLosses)?;
        let setup = Setup { loss, optimizer: plan.optimizer, accumulate, ..Setup::default() };
        let written = Recipe { batch: plan.batch, setup, growth: true };
        let allowed: Allowed = (plan.micro_batches > 1).then_some(Lever::Accumulate).into_iter().collect();
        let found = search(&model, &written, plan.budget, allowed).map_err(JobError::from)?;
        match found.recipe() {
            Some((trial, needs)) => {
                Ok(RecipeFile::new(&plan.model, plan.budget, trial.recipe, needs.clone()))
            }
            None => Err(RequestError::NoRecipe { model: plan.model, batch: plan.batch, budget: plan.budget }),
        }
    }
}
