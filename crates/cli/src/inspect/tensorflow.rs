//! `plimsoll inspect --as tensorflow`: what TensorFlow would need for the same step.

use super::{headline, layer_table, role_table};
use crate::arguments::{Foreign, ForeignDevice, Inspect, Switch};
use crate::chart;
use crate::failure::Failure;
use crate::table::Table;
use plimsoll::graph::Role;
use plimsoll::model::Mode as Lowering;
use plimsoll::tensorflow::{Device, Mode, Precision, Prediction, Setup, predict};
use plimsoll::{Bytes, Job, JobError, Prepared};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: &Inspect, job: Job) -> Result<ExitCode, Failure> {
    refuse_what_has_no_meaning(arguments)?;
    let setup = setup(&arguments.foreign, &job);
    let graph = job.model.lower(job.batch, Lowering::Training).map_err(JobError::from)?;
    let growth = growth(&arguments.foreign, setup.device);
    let prediction = predict(&graph, &setup);
    let figures = Figures::of(&prediction, growth);
    let prepared = job.prepare()?;
    match arguments.step.json {
        true => println!("{:#}", as_json(&prepared, &prediction, &setup, &figures)),
        false => print!("{}", as_text(&prepared, &prediction, &setup, &figures, arguments)),
    }
    let too_much =
        arguments.step.memory.is_some_and(|memory| figures.needed().is_none_or(|needed| needed > memory));
    Ok(if too_much { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What is asked about a prediction.
struct Figures {
    live: Bytes,
    reported: Bytes,
    limit: Option<Bytes>,
    allowances: Bytes,
}

impl Figures {
    fn of(prediction: &Prediction, growth: bool) -> Self {
        Self {
            live: prediction.live_peak(),
            reported: prediction.reported_peak(growth),
            limit: prediction.smallest_limit(growth),
            allowances: prediction.allowances.iter().map(|(_, bytes)| *bytes).sum(),
        }
    }

    /// What the device must have: the limit and what lies outside of it.
    fn needed(&self) -> Option<Bytes> {
        self.limit.map(|limit| limit + self.allowances)
    }
}

fn refuse_what_has_no_meaning(arguments: &Inspect) -> Result<(), Failure> {
    if arguments.step.threads.is_some() {
        let hint = "predictions are for one thread, on which TensorFlow's order of kernels is known; leave out --threads";
        return Err(Failure::usage("--threads says nothing about TensorFlow", Some(hint.to_string())));
    }
    Ok(())
}

/// How another framework would run a job.
pub fn setup(foreign: &Foreign, job: &Job) -> Setup {
    Setup {
        loss: job.loss,
        optimizer: job.optimizer,
        mode: foreign.mode.unwrap_or(Mode::Graph),
        precision: foreign.precision.unwrap_or(Precision::Float32),
        accumulate: foreign.accumulate.unwrap_or(1),
        device: match foreign.device {
            Some(ForeignDevice::Gpu) => Device::Gpu,
            Some(ForeignDevice::Cpu) | None => Device::Cpu,
        },
    }
}

/// Whether its allocator would grow.
pub fn growth(foreign: &Foreign, device: Device) -> bool {
    foreign.growth.map_or(device == Device::Cpu, |growth| growth == Switch::On)
}

fn as_text(
    prepared: &Prepared,
    prediction: &Prediction,
    setup: &Setup,
    figures: &Figures,
    arguments: &Inspect,
) -> String {
    let timeline: Vec<Bytes> = prediction.summary.timeline.iter().map(|moment| moment.live).collect();
    let mut sections = vec![
        format!("{}\nas TensorFlow would run it: {}", headline(prepared), words(setup)),
        peaks(prepared, prediction, figures),
        role_table(&prediction.by_role(), figures.live),
        format!(
            "live bytes over the {} kernels of a step\n{}",
            timeline.len(),
            chart::curve(&timeline, 72, 8)
        ),
        layer_table(&prediction.by_layer(), arguments.top),
        holders(prediction, arguments.top),
    ];
    sections.extend(arguments.step.memory.map(|memory| verdict(figures, memory)));
    sections.join("\n\n") + "\n"
}

fn words(setup: &Setup) -> String {
    let accumulated = match setup.accumulate {
        1 => String::new(),
        steps => format!(", gradients of {steps} steps added up"),
    };
    let device = if setup.device == Device::Gpu { "GPU" } else { "CPU" };
    format!("{} mode, {}, {device}{accumulated}", setup.mode.name(), setup.precision.name())
}

fn peaks(prepared: &Prepared, prediction: &Prediction, figures: &Figures) -> String {
    let mut table = Table::new(["", "", ""]).right(1);
    let mut row =
        |name: &str, bytes: String, note: &str| table.row([name.to_string(), bytes, note.to_string()]);
    row("live peak", figures.live.to_string(), "bytes that tensors ask for");
    row("reported peak", figures.reported.to_string(), "the same as chunks of its allocator");
    let limit = figures.limit.map_or("none".to_string(), |limit| limit.to_string());
    row("smallest limit", limit, "with which three steps run");
    for (name, bytes) in &prediction.allowances {
        row(&format!("+ {name}"), bytes.to_string(), "an allowance: not measured here");
    }
    row("Plimsoll", prepared.peak().to_string(), "the same step here, in float32");
    table.print().trim_start_matches(['\n', ' ']).to_string()
}

fn holders(prediction: &Prediction, top: usize) -> String {
    let mut table = Table::new(["largest tensors at the peak", "size"]).right(1);
    for (holder, bytes) in prediction.by_holder().into_iter().take(top) {
        table.row([holder, bytes.to_string()]);
    }
    table.print()
}

fn verdict(figures: &Figures, memory: Bytes) -> String {
    match figures.needed() {
        Some(needed) if needed <= memory => format!("fits {memory}, headroom {}", memory - needed),
        Some(needed) => format!("does not fit {memory}: {needed} are needed"),
        None => format!("does not fit {memory}"),
    }
}

fn as_json(prepared: &Prepared, prediction: &Prediction, setup: &Setup, figures: &Figures) -> Value {
    let by_role = prediction.by_role();
    let by_role: serde_json::Map<String, Value> = (Role::ALL.iter())
        .map(|role| (role.to_string(), json!(by_role.get(role).unwrap_or(&Bytes::ZERO))))
        .collect();
    let layers: Vec<Value> = (prediction.by_layer().into_iter().filter(|(layer, _)| !layer.is_empty()))
        .map(|(layer, bytes)| json!({"name": layer, "bytes_at_peak": bytes}))
        .collect();
    let timeline: Vec<Value> = (prediction.summary.timeline.iter())
        .map(|moment| json!({"time": moment.time.0, "live_bytes": moment.live}))
        .collect();
    let allowances: serde_json::Map<String, Value> =
        prediction.allowances.iter().map(|(name, bytes)| (name.to_string(), json!(bytes))).collect();
    json!({
        "model": prepared.job.model.name,
        "batch": prepared.job.batch,
        "as": "tensorflow",
        "mode": setup.mode.name(),
        "optimizer": prepared.job.optimizer.name(),
        "precision": setup.precision.name(),
        "accumulate": setup.accumulate,
        "live_peak_bytes": figures.live,
        "reported_peak_bytes": figures.reported,
        "smallest_limit_bytes": figures.limit,
        "allowances_not_measured": allowances,
        "plimsoll_peak_bytes": prepared.peak(),
        "by_role": by_role,
        "layers": layers,
        "timeline": timeline,
    })
}
