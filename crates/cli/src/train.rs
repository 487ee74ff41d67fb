//! `plimsoll train`: a training run inside a memory budget.

mod eager;
mod recording;

use crate::arguments::{Mode, Train};
use crate::devices::logical;
use crate::failure::Failure;
use crate::inspect::{headline, job_of};
use crate::specification;
use crate::table::Table;
use indicatif::{ProgressBar, ProgressStyle};
use plimsoll::data::{self, Dataset, Wanted};
use plimsoll::import::keras::{Keras, KerasError};
use plimsoll::memory::{Device, Devices, HostMemory};
use plimsoll::trace::Recorder;
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, Job, JobError, Outcome, PlanFile, Prepared, Progress, Run, Trainer, imported};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many lines a run prints where nobody watches.
const LINES: u64 = 10;

/// Runs the command. With `--json` a failure is an object on stdout too, with what `plimsoll diagnose` reads.
pub fn run(arguments: &Train) -> Result<ExitCode, Failure> {
    let result = train(arguments);
    if let (Err(failure @ Failure { code: 1, .. }), true) = (&result, arguments.step.json) {
        println!("{:#}", failure.as_json());
    }
    result
}

fn train(arguments: &Train) -> Result<ExitCode, Failure> {
    let (device, prepared, file) = match &arguments.plan {
        Some(path) => prepare_plan(path, arguments)?,
        None => {
            let opened = job_of(&arguments.step, Some(&arguments.data))?;
            let (device, prepared) = prepare(&opened.job, arguments)?;
            let (keras, learning_rate) = (opened.keras, opened.learning_rate);
            (device, prepared, Saved { keras, learning_rate, save: arguments.save.clone() })
        }
    };
    file.check()?;
    check_inputs_and_outputs(&prepared[0].job)?;
    let wanted = Wanted::of(&prepared[0].training);
    let data = data::open(&arguments.data, &wanted, arguments.seed).map_err(JobError::from)?;
    let run = Run {
        steps: steps(arguments, prepared[0].job.batch, data.train.count())?,
        learning_rate: learning_rate(arguments, prepared[0].job.optimizer, file.learning_rate)?,
        seed: arguments.seed,
        poison: arguments.poison,
    };
    eprintln!("{} · {} samples of {}", headline(&prepared[0]), data.train.count(), data.name);
    let peak = largest_peak(&prepared);
    let automatic = arguments.step.memory.is_none() && arguments.split.is_empty();
    let source = if automatic { " (automatic limit)" } else { "" };
    eprintln!("planned peak {peak} ({} bytes) of {}{source}", peak.0, device.limit());
    let trace = recording::open(arguments, &prepared, &device)?;
    let outcome = match arguments.memory_use.mode {
        Mode::Graph => train_planned(prepared, &device, run, &data, &file, trace)?,
        Mode::Eager => eager::train(prepared, &device, run, &data, (&file, &arguments.memory_use), trace)?,
    };
    if let Some(path) = &arguments.save {
        eprintln!("wrote {}", path.display());
    }
    match arguments.step.json {
        true => println!("{:#}", as_json(&outcome)),
        false => println!("{}", as_text(&outcome)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The device with its limit, and the job planned for each length: within the limit, unless an allocator is asked step by step.
fn prepare(job: &Job, arguments: &Train) -> Result<(Device, Vec<Prepared>), Failure> {
    let how = &arguments.memory_use;
    eager::check_options(how)?;
    let lengths: Vec<usize> = how.lengths.iter().copied().map(usize::from).collect();
    if !lengths.is_empty() && arguments.data != "synthetic" {
        let hint = Some("add --data synthetic".to_string());
        return Err(Failure::usage("only synthetic samples can have any length", hint));
    }
    let device = device(arguments)?;
    let budget = (how.mode == Mode::Graph).then_some(device.limit());
    Ok((device, job.prepare_lengths(&lengths, budget)?))
}

/// The device with its limit, and what a plan on disk says; proved again.
fn prepare_plan(path: &Path, arguments: &Train) -> Result<(Device, Vec<Prepared>, Saved), Failure> {
    let file = PlanFile::read(path).map_err(JobError::from)?;
    let specification::Opened { model, keras } = specification::open(&file.model, None)?;
    let compiled = keras.as_ref().and_then(|keras| keras.compiled.optimizer.as_ref());
    let compiled = compiled.and_then(|setting| imported::optimizer(setting).ok());
    let learning_rate = compiled.filter(|(optimizer, _)| *optimizer == file.optimizer).map(|(_, rate)| rate);
    let prepared = file.prepare(model)?;
    let device = device(arguments)?;
    if prepared.peak() > device.limit() {
        let message = format!("the plan takes {}, the device has {}", prepared.peak(), device.limit());
        let hint = format!("plimsoll fit {} --batch {} --memory {}", file.model, file.batch, device.limit());
        return Err(Failure { code: 1, ..Failure::usage(message, Some(hint)) });
    }
    Ok((device, vec![prepared], Saved { keras, learning_rate, save: arguments.save.clone() }))
}

/// Data sets have one input and one truth for each sample.
fn check_inputs_and_outputs(job: &Job) -> Result<(), Failure> {
    let (inputs, outputs) = (job.model.inputs.len(), job.model.outputs.len());
    if inputs > 1 {
        let hint = "`plimsoll inspect` and `plimsoll fit` take such models".to_string();
        return Err(Failure::usage(
            format!("the model has {inputs} inputs, the data sets have one"),
            Some(hint),
        ));
    }
    if outputs > 1 {
        eprintln!("note: the model has {outputs} outputs; the loss is that of the first");
    }
    Ok(())
}

/// The file a model comes from, if there is one.
struct Saved {
    keras: Option<Keras>,
    learning_rate: Option<f32>,
    /// Where the trained model goes.
    save: Option<PathBuf>,
}

impl Saved {
    /// Whether the trained model can be written, before anything runs.
    fn check(&self) -> Result<(), Failure> {
        let Some(path) = &self.save else { return Ok(()) };
        match &self.keras {
            Some(keras) => keras.check_write(path).map_err(file_failure),
            None => {
                let hint = "save it in Keras with model.save(\"model.keras\"), or its configuration with model.to_json(), and train that";
                Err(Failure::usage(
                    "a model of the zoo has no Keras configuration to save",
                    Some(hint.to_string()),
                ))
            }
        }
    }
}

fn file_failure(error: KerasError) -> Failure {
    Failure::usage(error.to_string(), error.hint())
}

/// The logical device to train on: the whole host with its limit, or one of the parts it is cut into.
fn device(arguments: &Train) -> Result<Device, Failure> {
    let (limit, split, growth) = (arguments.step.memory, &arguments.split, eager::device_growth(arguments));
    let devices = Devices::discover();
    if split.is_empty() {
        let physical = devices.find(&arguments.device)?;
        return Ok(logical(physical, limit, split, growth, &HostMemory::read())?.remove(0));
    }
    let mut parts = Vec::new();
    for physical in devices.visible() {
        parts.extend(logical(physical, limit, split, growth, &HostMemory::read())?);
    }
    let wanted = |part: &Device| part.name() == arguments.device;
    let chosen = parts.iter().position(wanted).or((arguments.device == "host").then_some(0));
    let names: Vec<&str> = parts.iter().map(Device::name).collect();
    let hint = format!("--split makes {}", names.join(", "));
    let unknown = || Failure::usage(format!("there is no device `{}`", arguments.device), Some(hint));
    Ok(parts.remove(chosen.ok_or_else(unknown)?))
}

fn largest_peak(prepared: &[Prepared]) -> Bytes {
    prepared.iter().map(Prepared::peak).max().unwrap_or_default()
}

fn train_planned(
    prepared: Vec<Prepared>,
    device: &Device,
    run: Run,
    data: &Dataset,
    file: &Saved,
    trace: Option<Recorder>,
) -> Result<Outcome, Failure> {
    let display = Display::new(run.steps);
    let mut trainer = Trainer::with_lengths(prepared, device, run)?;
    if let Some(keras) = &file.keras {
        trainer.read_weights(keras).map_err(file_failure)?;
    }
    trace.into_iter().for_each(|recorder| trainer.record_to(recorder));
    let outcome = trainer.train(data, |progress| display.show(progress));
    display.bar.finish_and_clear();
    recording::tell(trainer.finish_recording());
    let outcome = outcome?;
    if let (Some(keras), Some(path)) = (&file.keras, &file.save) {
        trainer.write_weights(keras, path).map_err(file_failure)?;
    }
    Ok(outcome)
}

fn steps(arguments: &Train, batch: usize, samples: usize) -> Result<u64, Failure> {
    if arguments.epochs == 0 {
        return Err(Failure::usage("there is nothing to do in 0 epochs", None));
    }
    let batch = batch.max(1) as u64;
    Ok(arguments.steps.unwrap_or((samples as u64 * arguments.epochs).div_ceil(batch)))
}

fn learning_rate(arguments: &Train, optimizer: Optimizer, compiled: Option<f32>) -> Result<f32, Failure> {
    let given = arguments.learning_rate.or(compiled);
    let rate = given.unwrap_or(optimizer.default_learning_rate());
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
    match outcome.pool {
        Some(pool) => eager::add_rows(&mut table, &pool, outcome.planned_peak),
        None => table.row([
            "measured peak".to_string(),
            outcome.measured_peak.to_string(),
            format!("{}, equal", bytes(outcome.measured_peak)),
        ]),
    }
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

fn bytes(size: Bytes) -> String {
    format!("{} bytes", size.0)
}

fn as_json(outcome: &Outcome) -> serde_json::Value {
    let pool = outcome.pool;
    json!({
        "mode": if pool.is_some() { "eager" } else { "graph" },
        "allocator": pool.map(|pool| pool.allocator),
        "peak_in_use_bytes": pool.map(|pool| pool.peak_in_use),
        "peak_reserved_bytes": pool.map(|pool| pool.peak_reserved),
        "worst_fragmentation": pool.map(|pool| pool.worst_fragmentation),
        "shrunk_steps": pool.map(|pool| pool.shrunk_steps),
        "compactions": pool.map(|pool| pool.compactions),
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
