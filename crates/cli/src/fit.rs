//! `plimsoll fit`: the fastest training step inside a number of bytes.

mod tensorflow;

use crate::arguments::{Fit as Arguments, Framework, Lever};
use crate::chart;
use crate::failure::Failure;
use crate::inspect::{headline, job, refuse_idle_options};
use crate::table::Table;
use plimsoll::graph::Role;
use plimsoll::{Allow, Bytes, Fit, Job, JobError, PlanFile, Prepared, fit_and_explore, largest_batch};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let job = job(&arguments.step, None)?;
    refuse_idle_options(&arguments.foreign)?;
    let budget = arguments.step.memory.unwrap_or(Bytes(u64::MAX));
    let model = arguments.step.model.as_deref().unwrap_or_default();
    let path = arguments.output.clone().unwrap_or_else(|| default_path(model));
    if let Some(Framework::Tensorflow) = arguments.foreign.framework {
        return tensorflow::run(arguments, &job, &path);
    }
    let found = search(&job, budget, arguments)?;
    PlanFile::new(&found.prepared, model, budget).write(&path).map_err(JobError::from)?;
    match arguments.step.json {
        true => println!("{:#}", as_json(&found, &path)),
        false => {
            println!("{}", as_text(&found));
            println!("\nwrote {0}\nhint: plimsoll train --plan {0}", path.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn search(job: &Job, budget: Bytes, arguments: &Arguments) -> Result<Fit, Failure> {
    if arguments.allow.contains(&Lever::Precision) {
        let hint = "it is a lever of --as tensorflow".to_string();
        return Err(Failure::usage("Plimsoll trains in float32: there is no precision to allow", Some(hint)));
    }
    if arguments.maximize.is_some() {
        if !(arguments.slowdown.is_finite() && arguments.slowdown >= 0.0) {
            return Err(Failure::usage("--slowdown must be a percentage such as 35", None));
        }
        let mut found = largest_batch(job, budget, arguments.slowdown / 100.0)?;
        found.explore()?;
        return Ok(found);
    }
    let may = |lever| arguments.allow.contains(&lever);
    let allow = Allow {
        // Whoever says how many micro-batches there are has said it all.
        whole: arguments.step.micro_batches.is_some(),
        accumulate: may(Lever::Accumulate),
        optimizer: may(Lever::Optimizer),
        batch: may(Lever::Batch),
    };
    Ok(fit_and_explore(job, budget, allow)?)
}

/// `resnet50.plan.json` for `resnet50@224` and for `models/resnet50.keras`.
fn default_path(model: &str) -> PathBuf {
    let name = std::path::Path::new(model).file_name().map_or(model.into(), |name| name.to_string_lossy());
    let end = name.find(['@', ',', '.']).unwrap_or(name.len());
    PathBuf::from(format!("{}.plan.json", &name[..end]))
}

fn as_text(found: &Fit) -> String {
    let prepared = &found.prepared;
    let mut sections = vec![headline(prepared), stages(found), roles(prepared)];
    if found.frontier.len() > 1 {
        sections.push(frontier(found));
    }
    if let Some(changes) = &found.changes {
        sections.push(format!("not the same numbers as written: {changes}"));
    }
    if !found.advice.is_empty() {
        sections.push(advice(found));
    }
    sections.join("\n\n")
}

fn stages(found: &Fit) -> String {
    let mut table = Table::new(["", "peak", "time/step", ""]).right(1).right(2);
    for (position, stage) in found.stages.iter().enumerate() {
        let lever = if position == 0 { stage.lever.clone() } else { format!("+ {}", stage.lever) };
        let misses = position == 0 && stage.peak > found.budget;
        let note = if misses { format!("does not fit {}", found.budget) } else { stage.note.clone() };
        table.row([lever, stage.peak.to_string(), seconds(stage.seconds), note]);
    }
    let prepared = &found.prepared;
    let (peak, fragmentation) = (prepared.peak(), prepared.peak().saturating_sub(prepared.floor()));
    let verdict =
        format!("fits, headroom {}, fragmentation {fragmentation}", found.budget.saturating_sub(peak));
    table.row(["plan".to_string(), peak.to_string(), seconds(prepared.seconds()), verdict]);
    let guess = if prepared.job.profile.calibrated {
        ""
    } else {
        "\n(times are a guess until `plimsoll calibrate` has measured this machine)"
    };
    format!("{}{guess}", table.print())
}

fn roles(prepared: &Prepared) -> String {
    let mut held = prepared.usage().by_role;
    held.extend(prepared.persistent_by_role());
    let held = |role: &Role| held.get(role).copied().unwrap_or_default();
    let parts = |roles: &[(Role, &str)]| {
        let named = roles.iter().filter(|(role, _)| held(role) > Bytes::ZERO);
        named.map(|(role, name)| format!("{name} {}", held(role))).collect::<Vec<_>>().join(" · ")
    };
    let persistent = [
        (Role::Parameter, "parameters"),
        (Role::OptimizerState, "optimizer"),
        (Role::Accumulator, "accumulators"),
        (Role::Statistic, "statistics"),
    ];
    let transient = [
        (Role::Activation, "activations"),
        (Role::Gradient, "gradients"),
        (Role::Input, "input"),
        (Role::Workspace, "workspace"),
    ];
    let whole = prepared.floor();
    let sum = |roles: &[(Role, &str)]| roles.iter().map(|(role, _)| held(role)).sum::<Bytes>();
    let mut table = Table::new(["live at the peak", "", "", ""]).right(1);
    for (name, roles) in [("held across steps", &persistent[..]), ("within a step", &transient[..])] {
        let bytes = sum(roles);
        table.row([name.to_string(), bytes.to_string(), chart::bar(bytes, whole, 24), parts(roles)]);
    }
    table.print()
}

fn frontier(found: &Fit) -> String {
    let mut table =
        Table::new(["memory against time", "time/step", "more work", ""]).right(0).right(1).right(2);
    let slowest = found.frontier.iter().map(|point| point.seconds).fold(0.0, f64::max);
    for point in &found.frontier {
        let here = if point.peak == found.prepared.peak() { " ◀ plan" } else { "" };
        let length = (point.seconds / slowest * 1e6) as u64;
        let bar = chart::bar(Bytes(length), Bytes(1_000_000), 24);
        let work = format!("{:.1} %", 100.0 * point.extra_flops);
        table.row([point.peak.to_string(), seconds(point.seconds), work, format!("{bar}{here}")]);
    }
    table.print()
}

fn advice(found: &Fit) -> String {
    let lines = found.advice.iter().map(|remedy| format!("  {} · {}", remedy.change, remedy.peak));
    format!("also possible if you allow it\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s => format!("{s:.2} s"),
    }
}

fn as_json(found: &Fit, path: &std::path::Path) -> Value {
    let prepared = &found.prepared;
    let stage = |stage: &plimsoll::Stage| json!({"lever": stage.lever, "peak_bytes": stage.peak, "seconds": stage.seconds, "note": stage.note});
    let point = |point: &plimsoll::Point| json!({"peak_bytes": point.peak, "seconds": point.seconds, "extra_flops_fraction": point.extra_flops});
    let remedy = |remedy: &plimsoll::Remedy| json!({"change": remedy.change, "peak_bytes": remedy.peak, "fits": remedy.fits});
    json!({
        "model": prepared.job.model.name,
        "batch": prepared.job.batch,
        "optimizer": prepared.job.optimizer.name(),
        "budget_bytes": found.budget,
        "fits": true,
        "as_written_peak_bytes": found.as_written().peak,
        "peak_bytes": prepared.peak(),
        "floor_bytes": prepared.floor(),
        "extra_flops_fraction": prepared.extra_flops(),
        "extra_time_fraction": found.extra_time(),
        "seconds_per_step": prepared.seconds(),
        "calibrated": prepared.job.profile.calibrated,
        "micro_batches": prepared.job.micro_batches,
        "changes": found.changes,
        "levers": found.stages.iter().map(stage).collect::<Vec<_>>(),
        "frontier": found.frontier.iter().map(point).collect::<Vec<_>>(),
        "advice": found.advice.iter().map(remedy).collect::<Vec<_>>(),
        "plan": path.display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_called_like_their_models() {
        for model in ["resnet50@224", "resnet50,classes=10", "models/resnet50.keras", "resnet50"] {
            assert_eq!(default_path(model), PathBuf::from("resnet50.plan.json"));
        }
    }
}
