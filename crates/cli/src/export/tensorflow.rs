//! `plimsoll export PLAN --to tensorflow`: a plan as a script.

use crate::failure::Failure;
use plimsoll::state::input_file;
use plimsoll::tensorflow::{Recipe, RecipeFile, ScriptError, Setup, script, search};
use plimsoll::{Allowed, JobError, LARGEST_PLAN, Lever, PlanFile, RequestError, specification};
use std::path::Path;

/// The script for a plan on disk, Plimsoll's own or TensorFlow's.
pub fn script_of(path: &Path) -> Result<String, Failure> {
    let json = input_file::read(path, LARGEST_PLAN).map_err(|error| {
        let hint = "plans are written by `plimsoll fit MODEL --memory SIZE -o FILE`";
        Failure::usage(format!("{}: {error}", path.display()), Some(hint.to_string()))
    })?;
    let mut file = match RecipeFile::is_one(&json) {
        true => RecipeFile::parse(&json).map_err(|error| {
            let hint = "make it again with `plimsoll fit --as tensorflow`";
            Failure::usage(format!("{}: {error}", path.display()), Some(hint.to_string()))
        })?,
        false => translated(path, &json)?,
    };
    file.model = specification::beside(&file.model, path);
    let model = specification::find(&file.model)?;
    script(&file, &model).map_err(|error| {
        let hint = match error {
            ScriptError::Layer { .. } => "save the model with Keras and name the file as MODEL",
            ScriptError::Doors { .. } => {
                "write the training loop by hand, with the figures of `plimsoll fit --as tensorflow`"
            }
        };
        Failure::usage(error.to_string(), Some(hint.to_string()))
    })
}

/// TensorFlow computes nothing again by itself, so a plan of Plimsoll's is searched anew with what TensorFlow has: the
/// same batch, optimizer and budget, and at least as many micro-batches.
fn translated(path: &Path, json: &[u8]) -> Result<RecipeFile, Failure> {
    let plan = PlanFile::parse(json, &path.display().to_string()).map_err(JobError::from)?.beside(path);
    let model = specification::find(&plan.model)?;
    let equal = |parts: &usize| plan.batch.is_multiple_of(*parts);
    let accumulate = (plan.micro_batches.max(1)..=plan.batch).find(equal).unwrap_or(1) as u32;
    let loss = plan.objective.only_loss(model.outputs.len()).ok_or(RequestError::SeveralLosses)?;
    let setup = Setup { loss, optimizer: plan.optimizer, accumulate, ..Setup::default() };
    let written = Recipe { batch: plan.batch, setup, growth: true };
    let allowed: Allowed = (plan.micro_batches > 1).then_some(Lever::Accumulate).into_iter().collect();
    let found = search(&model, &written, plan.budget, allowed).map_err(JobError::from)?;
    match found.recipe() {
        Some((trial, needs)) => Ok(RecipeFile::new(&plan.model, plan.budget, trial.recipe, needs.clone())),
        None => Err(too_much(&plan)),
    }
}

fn too_much(plan: &PlanFile) -> Failure {
    let message = format!(
        "TensorFlow has no way to run a batch of {} of {} in {} with the same numbers",
        plan.batch, plan.model, plan.budget
    );
    let hint = format!(
        "plimsoll fit {} --batch {} --memory {}MiB --as tensorflow --allow accumulate,precision",
        plan.model,
        plan.batch,
        plan.budget.0 >> 20
    );
    Failure::problem(message, Some(hint))
}
