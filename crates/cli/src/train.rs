//! `plimsoll train`: a training run inside a memory budget.

use crate::arguments::Train;
use crate::failure::Failure;
use crate::inspect::{headline, job};
use crate::table::Table;
use indicatif::{ProgressBar, ProgressStyle};
use plimsoll::data::{self, Wanted};
use plimsoll::memory::{Device, Devices, Growth, HostMemory};
use plimsoll::{Job, JobError, Outcome, Prepared, Progress, Run, Trainer};
use serde_json::json;
use std::io::IsTerminal;
use std::process::ExitCode;

/// How many lines a run prints where nobody watches.
const LINES: u64 = 10;

/// Runs the command.
pub fn run(arguments: &Train) -> Result<ExitCode, Failure> {
    let job = job(&arguments.step, Some(&arguments.data))?;
    let (device, prepared) = prepare(&job, arguments)?;
    let wanted = Wanted::of(&prepared.training);
    let data = data::open(&arguments.data, &wanted, arguments.seed).map_err(JobError::from)?;
    let run = Run {
        steps: steps(arguments, data.train.count())?,
        learning_rate: learning_rate(arguments)?,
        seed: arguments.seed,
        poison: arguments.poison,
    };
    eprintln!("{} · {} samples of {}", headline(&prepared), data.train.count(), data.name);
    let source = if arguments.step.memory.is_some() { "" } else { " (automatic limit)" };
    eprintln!("planned peak {} ({} bytes) of {}{source}", prepared.peak(), prepared.peak().0, device.limit());
    let display = Display::new(run.steps);
    let outcome = Trainer::new(prepared, &device, run)?.train(&data, |progress| display.show(progress))?;
    display.bar.finish_and_clear();
    match arguments.step.json {
        true => println!("{:#}", as_json(&outcome)),
        false => println!("{}", as_text(&outcome)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The device with its limit, and the job planned within it. Without a budget the limit is the automatic one, or what the plan needs where
/// the system does not tell what is free.
fn prepare(job: &Job, arguments: &Train) -> Result<(Device, Prepared), Failure> {
    let devices = Devices::discover();
    let physical = devices.find(&arguments.device)?;
    let logical = |limit| physical.logical(physical.name(), limit, Growth::On);
    let Some(limit) = arguments.step.memory.or_else(|| HostMemory::read().automatic_limit()) else {
        let prepared = job.prepare()?;
        return Ok((logical(prepared.peak())?, prepared));
    };
    let device = logical(limit)?;
    Ok((device, job.prepare_within(limit)?))
}

fn steps(arguments: &Train, samples: usize) -> Result<u64, Failure> {
    if arguments.epochs == 0 {
        return Err(Failure::usage("there is nothing to do in 0 epochs", None));
    }
    let batch = arguments.step.batch.max(1) as u64;
    Ok(arguments.steps.unwrap_or((samples as u64 * arguments.epochs).div_ceil(batch)))
}

fn learning_rate(arguments: &Train) -> Result<f32, Failure> {
    let rate = arguments.learning_rate.unwrap_or(arguments.step.optimizer.default_learning_rate());
    match rate.is_finite() && rate >= 0.0 {
        true => Ok(rate),
        false => Err(Failure::usage(format!("{rate} is no learning rate"), Some("try 0.001".to_string()))),
    }
}

/// A progress bar on a terminal, a few plain lines elsewhere; on stderr.
struct Display {
    bar: ProgressBar,
    every: u64,
    plain: bool,
}

impl Display {
    fn new(steps: u64) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} steps · {msg} · {eta} left");
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        Self { bar, every: steps.div_ceil(LINES), plain }
    }

    fn show(&self, progress: Progress) {
        let accuracy =
            progress.accuracy.map_or(String::new(), |share| format!(" · accuracy {:.1} %", 100.0 * share));
        let message = format!("loss {:.4}{accuracy}", progress.loss);
        if self.plain && (progress.step.is_multiple_of(self.every) || progress.step == progress.steps) {
            eprintln!("step {}/{} · {message}", progress.step, progress.steps);
        }
        self.bar.set_message(message);
        self.bar.set_position(progress.step);
    }
}

fn as_text(outcome: &Outcome) -> String {
    let mut table =
        Table::new(["planned peak", &outcome.planned_peak.to_string(), &bytes(outcome.planned_peak)])
            .right(1);
    table.row([
        "measured peak".to_string(),
        outcome.measured_peak.to_string(),
        format!("{}, equal", bytes(outcome.measured_peak)),
    ]);
    if let Some(resident) = outcome.peak_resident {
        table.row([
            "whole process".to_string(),
            resident.to_string(),
            "resident at most, as the system counts".to_string(),
        ]);
    }
    let per_step = outcome.time.as_secs_f64() / outcome.steps.max(1) as f64;
    table.row(["steps".to_string(), outcome.steps.to_string(), format!("{:.2} ms each", 1e3 * per_step)]);
    table.row(["loss".to_string(), format!("{:.4}", outcome.loss), "of the last step".to_string()]);
    if let Some(accuracy) = outcome.accuracy {
        let on =
            if outcome.on_test_samples { "of test samples it has not seen" } else { "of the last batch" };
        table.row(["accuracy".to_string(), format!("{:.2} %", 100.0 * accuracy), on.to_string()]);
    }
    table.print()
}

fn bytes(size: plimsoll::Bytes) -> String {
    format!("{} bytes", size.0)
}

fn as_json(outcome: &Outcome) -> serde_json::Value {
    json!({
        "planned_peak_bytes": outcome.planned_peak,
        "measured_peak_bytes": outcome.measured_peak,
        "peak_rss_bytes": outcome.peak_resident,
        "loss": outcome.loss,
        "accuracy": outcome.accuracy,
        "accuracy_on_test": outcome.on_test_samples,
        "steps": outcome.steps,
        "seconds_per_step": outcome.time.as_secs_f64() / outcome.steps.max(1) as f64,
    })
}
