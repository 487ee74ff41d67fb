//! `plimsoll fit --as tensorflow`: what to tell TensorFlow so that a step fits.

use super::Fit;
use crate::failure::Failure;
use crate::notes;
use crate::output::Channel;
use crate::table::Table;
use plimsoll::state::whole_file;
use plimsoll::tensorflow::{Advice, Needs, Recipe, RecipeFile, Search, Trial, search};
use plimsoll::trace::visible;
use plimsoll::{Bytes, Change, Job, JobError, OpenedJob, specification};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: &Fit) -> Result<ExitCode, Failure> {
    let channel = Channel::beside(&[arguments.output.as_deref()], arguments.step.json)?;
    let OpenedJob { job, notes, .. } = arguments.step.request().open()?;
    notes::tell(&notes);
    let path = &arguments.request()?.path();
    let job = &job;
    let written = written(arguments, job)?;
    let budget = arguments.step.memory.unwrap_or(Bytes(u64::MAX));
    let allowed = arguments.allow.iter().copied().collect();
    let found = search(&job.model, &written, budget, allowed).map_err(JobError::from)?;
    let model = specification::relative_to(arguments.step.model(), path);
    let file =
        found.recipe().map(|(trial, needs)| RecipeFile::new(&model, budget, trial.recipe, needs.clone()));
    if let Some(file) = &file {
        let text = serde_json::to_string_pretty(file).expect("a recipe is plain data");
        whole_file::write(path, |file| file.write_all(text.as_bytes()))
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display()), None))?;
    }
    let json = as_json(&found, budget, job, path);
    channel.report(arguments.step.json, &json, || as_text(&found, budget, job, path))?;
    Ok(if file.is_some() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The training as it was asked for.
fn written(arguments: &Fit, job: &Job) -> Result<Recipe, Failure> {
    let usage = |message: &str, hint: &str| Err(Failure::usage(message, Some(hint.to_string())));
    if arguments.maximize.is_some() {
        return usage(
            "--maximize looks for plans of Plimsoll",
            "with --as tensorflow, name a batch; --allow batch finds the largest half that fits",
        );
    }
    if arguments.step.micro_batches.is_some() {
        return usage("--micro-batches says nothing about TensorFlow", "say --accumulate instead");
    }
    let setup = arguments.foreign.setup(job)?;
    if job.batch == 0 || !job.batch.is_multiple_of(setup.accumulate as usize) {
        let message = format!("a batch of {} cannot be cut into {} equal parts", job.batch, setup.accumulate);
        return usage(&message, "Keras adds up the gradients of equal steps only");
    }
    Ok(Recipe { batch: job.batch, setup, growth: arguments.foreign.grows(setup.device) })
}

fn as_text(found: &Search, budget: Bytes, job: &Job, path: &Path) -> String {
    let setup = &found.trials[0].recipe.setup;
    let headline = format!(
        "{} · batch {} · {} · {} · {} mode · in TensorFlow on a {}",
        visible::line(&job.model.name),
        job.batch,
        setup.optimizer,
        setup.precision.name(),
        setup.mode.name(),
        setup.device.name(),
    );
    let mut sections = vec![headline, trials(found, budget)];
    match found.recipe() {
        Some((_, needs)) => {
            sections.push(verdict(needs, budget));
            sections.push(format!(
                "wrote {0}\nhint: plimsoll export {0} --to tensorflow -o train.py",
                path.display()
            ));
        }
        None => sections.push(refusal(found, budget)),
    }
    sections.join("\n\n") + "\n"
}

fn trials(found: &Search, budget: Bytes) -> String {
    let mut table = Table::new(["", "tensors", "limit", "needed", ""]).right(1).right(2).right(3);
    for trial in &found.trials {
        let name = match trial.changes.is_empty() {
            true => "as written".to_string(),
            false => words(trial).join(" + "),
        };
        table.row(row(name, trial, if trial.fits(budget) { "fits" } else { "does not fit" }));
    }
    table.print()
}

/// The changes of a trial in words.
fn words(trial: &Trial) -> Vec<String> {
    trial.changes.iter().map(|&change| trial.describe(change)).collect()
}

/// The same, with the one that must be allowed as it is allowed.
fn words_of_advice(advice: &Advice) -> Vec<String> {
    let word = |&change: &Change| match change.lever() == advice.lever {
        true => format!("--allow {}: {}", advice.lever, advice.trial.describe(change)),
        false => advice.trial.describe(change),
    };
    advice.trial.changes.iter().map(word).collect()
}

fn row(name: String, trial: &Trial, note: &str) -> [String; 5] {
    match &trial.needs {
        Some(needs) => [
            name,
            needs.live.to_string(),
            needs.limit.to_string(),
            needs.total().to_string(),
            note.to_string(),
        ],
        None => [name, String::new(), String::new(), "no limit works".to_string(), note.to_string()],
    }
}

fn verdict(needs: &Needs, budget: Bytes) -> String {
    let mut parts = vec![
        format!("limit {} as predicted", needs.limit),
        format!("{} in hand for what the prediction may miss", needs.pool() - needs.limit - needs.waiting),
    ];
    if needs.waiting > Bytes::ZERO {
        parts.push(format!("{} of input that waits", needs.waiting));
    }
    if needs.beside > Bytes::ZERO {
        parts.push(format!("{} beside the pool, an allowance that was not measured", needs.beside));
    }
    format!("fits {budget}: {}", parts.join(" · "))
}

fn refusal(found: &Search, budget: Bytes) -> String {
    let mut text = format!("nothing that is allowed fits {budget}");
    if !found.advice.is_empty() {
        let mut table = Table::new(["not allowed so far", "needed", ""]).right(1);
        for advice in &found.advice {
            let trial = &advice.trial;
            let needed =
                trial.needs.as_ref().map_or("no limit works".to_string(), |needs| needs.total().to_string());
            let note = if trial.fits(budget) { "fits" } else { "" };
            table.row([words_of_advice(advice).join(" + "), needed, note.to_string()]);
        }
        text = format!("{text}\n\n{}", table.print());
    }
    format!("{text}\n\nhint: Plimsoll also computes values again: leave out --as tensorflow")
}

fn as_json(found: &Search, budget: Bytes, job: &Job, path: &Path) -> Value {
    let trial = |trial: &Trial, changes: Vec<String>| {
        json!({
            "changes": changes,
            "batch": trial.recipe.batch,
            "accumulate": trial.recipe.setup.accumulate,
            "precision": trial.recipe.setup.precision.name(),
            "optimizer": trial.recipe.setup.optimizer.name(),
            "mode": trial.recipe.setup.mode.name(),
            "growth": trial.recipe.growth,
            "live_peak_bytes": trial.needs.as_ref().map(|needs| needs.live),
            "reported_peak_bytes": trial.needs.as_ref().map(|needs| needs.reported),
            "smallest_limit_bytes": trial.needs.as_ref().map(|needs| needs.limit),
            "needed_bytes": trial.needs.as_ref().map(Needs::total),
            "fits": trial.fits(budget),
        })
    };
    json!({
        "model": job.model.name,
        "batch": job.batch,
        "as": "tensorflow",
        "device": found.trials[0].recipe.setup.device.name(),
        "budget_bytes": budget,
        "fits": found.found.is_some(),
        "found": found.recipe().map(|(found, _)| trial(found, words(found))),
        "trials": found.trials.iter().map(|one| trial(one, words(one))).collect::<Vec<_>>(),
        "advice": found.advice.iter().map(|one| trial(&one.trial, words_of_advice(one))).collect::<Vec<_>>(),
        "plan": found.found.map(|_| path.display().to_string()),
    })
}
