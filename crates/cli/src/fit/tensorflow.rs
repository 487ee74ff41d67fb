//! `plimsoll fit --as tensorflow`: what to tell TensorFlow so that a step fits.

use super::Fit;
use crate::failure::Failure;
use crate::notes;
use crate::output::Channel;
use crate::table::Table;
use plimsoll::Bytes;
use plimsoll::reports::{AdvisedReport, RecipeGoal, RecipeReport, RecipeRequest, TrialReport};
use std::process::ExitCode;

/// How many of the last trials are shown.
const SHOWN: usize = 5;

/// Runs the command.
pub fn run(arguments: &Fit) -> Result<ExitCode, Failure> {
    let channel = Channel::beside(&[arguments.output.as_deref()], arguments.step.json)?;
    let report = request(arguments)?.run()?;
    notes::tell(&report.notes);
    channel.report(arguments.step.json, &report, || as_text(&report))?;
    Ok(ExitCode::from(u8::from(!report.fits)))
}

/// The training as it was asked for.
fn request(arguments: &Fit) -> Result<RecipeRequest, Failure> {
    let usage = |message: &str, hint: &str| Err(Failure::usage(message, Some(hint.to_string())));
    if arguments.step.micro_batches.is_some() {
        return usage("--micro-batches says nothing about TensorFlow", "say --accumulate instead");
    }
    if arguments.slowdown.is_some() {
        return usage(
            "--slowdown says nothing about TensorFlow",
            "its times are not predicted; leave it out",
        );
    }
    let goal = match arguments.maximize {
        Some(_) => RecipeGoal::LargestBatch,
        None => RecipeGoal::FewestChanges(arguments.allow.iter().copied().collect()),
    };
    let step = arguments.foreign.request(&arguments.step);
    Ok(RecipeRequest { step, goal, output: arguments.output.clone() })
}

fn as_text(report: &RecipeReport) -> String {
    let mut sections = vec![report.headline.clone(), trials(report)];
    match (&report.found, &report.plan) {
        (Some(found), Some(plan)) => {
            sections.push(verdict(found, report.budget_bytes));
            sections.push(format!(
                "wrote {0}\nhint: plimsoll export {0} --to tensorflow -o train.py",
                plan.display()
            ));
        }
        _ => sections.push(refusal(report)),
    }
    sections.join("\n\n") + "\n"
}

/// The step as written and the last trials; those between do not fit.
fn trials(report: &RecipeReport) -> String {
    let mut table = Table::new(["", "tensors", "limit", "needed", ""]).right(1).right(2).right(3);
    let last = report.trials.len().saturating_sub(SHOWN);
    for (place, trial) in report.trials.iter().enumerate() {
        let shown = place == 0 || place >= last || *trial == report.nearest;
        if shown {
            table.row(row(trial, if trial.fits { "fits" } else { "does not fit" }));
        }
    }
    let hidden = last.saturating_sub(1);
    let more = if hidden > 0 { format!("\n({hidden} more were looked at)") } else { String::new() };
    format!("{}{more}", table.print())
}

fn row(trial: &TrialReport, note: &str) -> [String; 5] {
    let name = if trial.changes.is_empty() { "as written".to_string() } else { trial.changes.join(" + ") };
    let size = |bytes: Option<Bytes>| bytes.map_or(String::new(), |bytes| bytes.to_string());
    let needed = trial.needed_bytes.map_or("no limit works".to_string(), |bytes| bytes.to_string());
    [name, size(trial.live_peak_bytes), size(trial.smallest_limit_bytes), needed, note.to_string()]
}

fn verdict(found: &TrialReport, budget: Bytes) -> String {
    let batch = match (found.changes.is_empty(), found.accumulate) {
        (true, 1) => format!("batch {} ", found.batch),
        _ => String::new(),
    };
    let mut parts = vec![
        format!("limit {} as predicted", found.smallest_limit_bytes.unwrap_or_default()),
        format!("{} in hand for what the prediction may miss", found.in_hand_bytes.unwrap_or_default()),
    ];
    if let Some(waiting) = found.waiting_bytes.filter(|bytes| *bytes > Bytes::ZERO) {
        parts.push(format!("{waiting} of input that waits"));
    }
    if let Some(beside) = found.beside_bytes.filter(|bytes| *bytes > Bytes::ZERO) {
        parts.push(format!("{beside} beside the pool, an allowance that was not measured"));
    }
    format!("{batch}fits {budget}: {}", parts.join(" · "))
}

fn refusal(report: &RecipeReport) -> String {
    let budget = report.budget_bytes;
    let mut text = format!("nothing that is allowed fits {budget}");
    if let Some(needed) = report.nearest.needed_bytes {
        let what = match report.nearest.changes.is_empty() {
            true => "as written".to_string(),
            false => report.nearest.changes.join(" + "),
        };
        text += &format!("; the nearest is {what}: {} more", needed.saturating_sub(budget));
    }
    if !report.advice.is_empty() {
        let mut table = Table::new(["not allowed so far", "needed", ""]).right(1);
        for advice in &report.advice {
            let needed =
                advice.trial.needed_bytes.map_or("no limit works".to_string(), |needed| needed.to_string());
            table.row([worded(advice), needed, if advice.trial.fits { "fits" } else { "" }.to_string()]);
        }
        text = format!("{text}\n\n{}", table.print());
    }
    format!("{text}\n\nhint: Plimsoll also computes values again: leave out --as tensorflow")
}

/// What a lever would give, with how it is allowed.
fn worded(advice: &AdvisedReport) -> String {
    format!("--allow {}: {}", advice.lever, advice.trial.changes.join(" + "))
}
