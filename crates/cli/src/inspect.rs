//! `plimsoll inspect`: where the memory of a training step goes.

mod tensorflow;

pub use tensorflow::{growth, setup};

use crate::arguments::{Foreign, Framework, Inspect, Step};
use crate::failure::Failure;
use crate::table::Table;
use crate::{chart, specification};
use plimsoll::exec::CpuBackend;
use plimsoll::graph::Role;
use plimsoll::import::keras::Keras;
use plimsoll::plan::{Options, Usage};
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, Job, Prepared, cached_profile, imported};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the command.
pub fn run(arguments: &Inspect) -> Result<ExitCode, Failure> {
    let job = job(&arguments.step, None)?;
    refuse_idle_options(&arguments.foreign)?;
    if let Some(Framework::Tensorflow) = arguments.foreign.framework {
        return tensorflow::run(arguments, job);
    }
    let prepared = match arguments.step.memory {
        Some(budget) => job.prepare_within(budget)?,
        None => job.prepare()?,
    };
    let usage = prepared.usage();
    match arguments.step.json {
        true => println!("{:#}", as_json(&prepared, &usage)),
        false => print!("{}", as_text(&prepared, &usage, arguments)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Options about another framework say nothing without one.
pub fn refuse_idle_options(foreign: &Foreign) -> Result<(), Failure> {
    let Some(option) = foreign.idle_option() else { return Ok(()) };
    let hint = "it says how another framework would run the step; add --as tensorflow".to_string();
    Err(Failure::usage(format!("{option} says nothing about a plan"), Some(hint)))
}

/// The job that the arguments describe; a data set fills in the size of a model that was named without one.
pub fn job(step: &Step, data: Option<&str>) -> Result<Job, Failure> {
    Ok(job_of(step, data)?.job)
}

/// A job, and the file its model comes from.
pub struct Opened {
    /// The job.
    pub job: Job,
    /// The file, if there is one.
    pub keras: Option<Keras>,
    /// The learning rate that the file asks for.
    pub learning_rate: Option<f32>,
}

/// The same with what the model's file says: it also decides about loss and optimizer, unless the arguments do.
pub fn job_of(step: &Step, data: Option<&str>) -> Result<Opened, Failure> {
    let specification::Opened { model, keras } =
        specification::open(step.model.as_deref().unwrap_or_default(), data)?;
    let mut job = Job::new(model, step.batch);
    job.micro_batches = step.micro_batches.map_or(1, |count| count as usize);
    if job.micro_batches > job.batch.max(1) {
        let message = format!("{} samples cannot be cut into {} micro-batches", job.batch, job.micro_batches);
        return Err(Failure::usage(message, Some("a micro-batch has at least one sample".to_string())));
    }
    let learning_rate = compile(&mut job, step, keras.as_ref())?;
    let cpu = step.threads.map_or_else(CpuBackend::default, |threads| CpuBackend::new(threads.into()));
    let (profile, stale) = cached_profile(cpu.threads);
    job.backend = Arc::new(cpu);
    job.profile = profile;
    if let Some(stale) = stale {
        eprintln!("note: {stale}");
    }
    Ok(Opened { job, keras, learning_rate })
}

/// Sets loss and optimizer: those given, else those the model was compiled with, else the usual ones. Gives the learning rate it was
/// compiled with.
fn compile(job: &mut Job, step: &Step, keras: Option<&Keras>) -> Result<Option<f32>, Failure> {
    let compiled = keras.map(|keras| &keras.compiled);
    let loss = compiled.and_then(|compiled| compiled.loss.as_ref()).filter(|_| step.loss.is_none());
    if let Some(setting) = loss {
        let hint = format!("--loss takes the place of what was saved: {}", imported::LOSSES);
        job.loss = imported::loss(setting).map_err(|problem| Failure::usage(problem, Some(hint)))?;
    }
    job.loss = step.loss.unwrap_or(job.loss);
    let optimizer = compiled.and_then(|compiled| compiled.optimizer.as_ref());
    let mut learning_rate = None;
    if let Some(setting) = optimizer.filter(|_| step.optimizer.is_none()) {
        let names = Optimizer::DEFAULTS.map(|optimizer| optimizer.name()).join(", ");
        let hint = format!("--optimizer takes the place of what was saved: {names}");
        let (optimizer, rate) =
            imported::optimizer(setting).map_err(|problem| Failure::usage(problem, Some(hint)))?;
        (job.optimizer, learning_rate) = (optimizer, Some(rate));
    }
    job.optimizer = step.optimizer.unwrap_or(job.optimizer);
    Ok(learning_rate)
}

/// A line that says what a job is.
pub fn headline(prepared: &Prepared) -> String {
    let Job { model, batch, optimizer, .. } = &prepared.job;
    let input = &model.inputs[0];
    let extents: Vec<String> = input.shape.extents().iter().map(usize::to_string).collect();
    let count = parameters(prepared).0 as f64;
    let count = if count < 1e6 { format!("{:.1} k", count / 1e3) } else { format!("{:.1} M", count / 1e6) };
    let (name, size) = (&model.name, extents.join("x"));
    format!("{name} · {size} · batch {batch} · {optimizer} · float32 · {count} parameters")
}

/// All parameters as Keras counts them, and those that are trained.
fn parameters(prepared: &Prepared) -> (usize, usize) {
    let graph = prepared.step().graph();
    let trainable = graph.elements_of(Role::Parameter);
    (trainable + graph.elements_of(Role::Statistic), trainable)
}

fn as_text(prepared: &Prepared, usage: &Usage, arguments: &Inspect) -> String {
    let plan = prepared.plan();
    let top = arguments.top;
    let sections = [
        headline(prepared),
        levers(prepared),
        roles(usage, plan.floor),
        format!(
            "live bytes over the {} ops of a step\n{}",
            plan.order.len(),
            chart::curve(&usage.timeline, 72, 8)
        ),
        layers(usage, top),
        live(usage, top),
        match arguments.step.memory {
            Some(budget) => format!("fits {budget}, headroom {}", budget - prepared.peak()),
            None => {
                let (model, batch) =
                    (arguments.step.model.as_deref().unwrap_or_default(), arguments.step.batch);
                format!("hint: plimsoll train {model} --batch {batch} --memory {}", ceiling(prepared.peak()))
            }
        },
    ];
    sections.join("\n\n") + "\n"
}

/// The peak without the levers, then with each of them.
fn levers(prepared: &Prepared) -> String {
    let as_written = Options { in_place: false, update_when_ready: false };
    let ready = Options { update_when_ready: true, ..as_written };
    let peak = |options| prepared.step_peak_with(options);
    let made = prepared.plan();
    let mut table = Table::new(["", "peak", ""]).right(1);
    table.row(["as written".to_string(), peak(as_written).to_string(), String::new()]);
    table.row(["+ update when ready".to_string(), peak(ready).to_string(), String::new()]);
    table.row(["+ in place".to_string(), made.peak.to_string(), String::new()]);
    let figures = format!("floor {}, fragmentation {}", made.floor, made.fragmentation());
    table.row(["plan".to_string(), made.peak.to_string(), figures]);
    table.print()
}

fn roles(usage: &Usage, floor: Bytes) -> String {
    let layer =
        if usage.worst_layer.is_empty() { String::new() } else { format!(" of {}", usage.worst_layer) };
    format!("{}\n(during {}{layer})", role_table(&usage.by_role, floor), usage.worst_op)
}

fn role_table(by_role: &BTreeMap<Role, Bytes>, floor: Bytes) -> String {
    let mut table = Table::new(["live at the peak", "", ""]).right(1);
    for (role, bytes) in by_role {
        table.row([role_name(*role).to_string(), bytes.to_string(), chart::bar(*bytes, floor, 40)]);
    }
    table.print()
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Parameter => "parameters",
        Role::Statistic => "statistics",
        Role::OptimizerState => "optimizer state",
        Role::Accumulator => "accumulators",
        Role::Input => "input",
        Role::Activation => "activations",
        Role::Gradient => "gradients",
        Role::Workspace => "workspace",
    }
}

fn layers(usage: &Usage, top: usize) -> String {
    let by_layer: Vec<(&str, Bytes)> =
        usage.by_layer.iter().map(|(layer, bytes)| (layer.as_str(), *bytes)).collect();
    layer_table(&by_layer, top)
}

fn layer_table(by_layer: &[(&str, Bytes)], top: usize) -> String {
    let named: Vec<_> = by_layer.iter().filter(|(layer, _)| !layer.is_empty()).collect();
    let most = named.first().map_or(Bytes::ZERO, |(_, bytes)| *bytes);
    let mut table = Table::new(["largest layers at the peak", "", ""]).right(1);
    for (layer, bytes) in named.iter().take(top) {
        table.row([layer.to_string(), bytes.to_string(), chart::bar(*bytes, most, 24)]);
    }
    if named.len() > top {
        let rest: Bytes = named[top..].iter().map(|(_, bytes)| *bytes).sum();
        table.row([format!("and {} more", named.len() - top), rest.to_string(), String::new()]);
    }
    table.print()
}

fn live(usage: &Usage, top: usize) -> String {
    let mut table = Table::new(["largest values at the peak", "role", "size"]).right(2);
    for holding in usage.live.iter().take(top) {
        table.row([holding.shown(), holding.role.to_string(), holding.bytes.to_string()]);
    }
    table.print()
}

/// A size that people would write: the next whole unit above.
fn ceiling(bytes: Bytes) -> String {
    let (unit, name) = if bytes.0 < 1 << 20 { (1 << 10, "KiB") } else { (1 << 20, "MiB") };
    format!("{}{name}", bytes.0.div_ceil(unit))
}

fn as_json(prepared: &Prepared, usage: &Usage) -> Value {
    let plan = prepared.plan();
    let graph = prepared.step().graph();
    let (parameters, trainable) = parameters(prepared);
    let by_role: serde_json::Map<String, Value> = Role::ALL
        .iter()
        .map(|role| (role.to_string(), json!(usage.by_role.get(role).unwrap_or(&Bytes::ZERO))))
        .collect();
    let at_peak =
        |name: &str| usage.by_layer.iter().find(|(layer, _)| layer == name).map_or(0, |(_, bytes)| bytes.0);
    let layer_parameters = |name: &str| -> usize {
        let owned = graph.persistents().filter(|&id| {
            let value = graph.value(id);
            let counted = matches!(value.role, Role::Parameter | Role::Statistic);
            counted && value.layer.is_some_and(|layer| graph.layer_name(layer) == name)
        });
        owned.map(|id| graph.tensor(id).shape.elements()).sum()
    };
    let layers: Vec<Value> = (graph.layers().iter())
        .map(|name| json!({"name": name, "parameters": layer_parameters(name), "bytes_at_peak": at_peak(name)}))
        .collect();
    let live: Vec<Value> = (usage.live.iter())
        .map(|h| json!({"value": h.value, "again": h.again, "layer": h.layer, "role": h.role.to_string(), "bytes": h.bytes}))
        .collect();
    json!({
        "model": prepared.job.model.name,
        "batch": prepared.job.batch,
        "optimizer": prepared.job.optimizer.name(),
        "parameters": parameters,
        "trainable_parameters": trainable,
        "peak_bytes": plan.peak,
        "floor_bytes": plan.floor,
        "fragmentation_bytes": plan.fragmentation(),
        "persistent_bytes": plan.persistent,
        "by_role": by_role,
        "layers": layers,
        "live_at_peak": live,
        "ops": plan.order.len(),
    })
}
