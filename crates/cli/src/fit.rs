//! `plimsoll fit`: the fastest training step inside a number of bytes.

mod tensorflow;

use crate::failure::Failure;
use crate::foreign::{Foreign, Framework};
use crate::output::Channel;
use crate::step::Step;
use crate::table::Table;
use crate::{chart, notes, searching, wording};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use plimsoll::graph::Role;
use plimsoll::hint::Call;
use plimsoll::reports::FitReport;
use plimsoll::trace::visible;
use plimsoll::train::Change;
use plimsoll::train::lever::Home;
use plimsoll::{Allowed, Bytes, FitRequest, Goal, Lever};
use std::path::PathBuf;
use std::process::ExitCode;

/// `plimsoll fit`
#[derive(Args)]
#[command(mut_arg("memory", |arg| arg.required(true)))]
pub struct Fit {
    /// The step that must fit.
    #[command(flatten)]
    pub step: Step,
    /// Look for the largest value that fits instead of taking the one given
    #[arg(long, value_name = "WHAT", value_parser = ["batch"], conflicts_with_all = ["batch", "micro_batches", "allow"])]
    pub maximize: Option<String>,
    /// With --maximize: how much slower a sample may be than as written, in percent [default: 35]
    #[arg(long, value_name = "PERCENT", requires = "maximize")]
    pub slowdown: Option<f64>,
    /// What may be used though it changes the numbers, separated by commas. What does not is used unasked, and so is
    /// accumulate where samples of a batch do not see each other
    #[arg(long, value_name = "LEVERS", value_delimiter = ',', value_parser = lever())]
    pub allow: Vec<Lever>,
    /// Who shall run the step instead of Plimsoll.
    #[command(flatten)]
    pub foreign: Foreign,
    /// Where the plan is written; - for standard output [default: the model's name with .plan.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How much slower a sample may be unless it is said, in percent.
const SLOWDOWN: f64 = 35.0;

/// Runs the command.
pub fn run(arguments: &Fit) -> Result<ExitCode, Failure> {
    arguments.foreign.refuse_idle_options()?;
    if let Some(Framework::Tensorflow) = arguments.foreign.framework {
        return tensorflow::run(arguments);
    }
    let channel = Channel::beside(&[arguments.output.as_deref()], arguments.step.json)?;
    let found = arguments.request()?.run();
    searching::clear();
    let report = found?;
    notes::tell(&report.notes);
    channel.report(arguments.step.json, &report, || as_text(&report))?;
    Ok(ExitCode::SUCCESS)
}

impl Fit {
    fn request(&self) -> Result<FitRequest, Failure> {
        let memory = self.step.memory.unwrap_or(Bytes(u64::MAX));
        Ok(FitRequest { job: self.step.request(), memory, goal: self.goal()?, output: self.output.clone() })
    }

    fn goal(&self) -> Result<Goal, Failure> {
        let foreign = self.allow.iter().find(|lever| !lever.is_of(Home::Plimsoll));
        if let Some(lever) = foreign.filter(|_| self.foreign.framework.is_none()) {
            let message = format!("Plimsoll trains in float32: there is no {lever} to allow");
            return Err(Failure::usage(message, Some("it is a lever of --as tensorflow".to_string())));
        }
        if self.maximize.is_some() {
            return Ok(Goal::LargestBatch { slowdown: self.slowdown.unwrap_or(SLOWDOWN) / 100.0 });
        }
        let allowed: Allowed = self.allow.iter().copied().collect();
        // A number of micro-batches that is given is kept.
        let is_given = self.step.micro_batches.is_some();
        Ok(Goal::Fastest(if is_given { allowed.without(Lever::Accumulate) } else { allowed }))
    }
}

/// The levers that need permission, each with what it does and whose it is.
fn lever() -> impl TypedValueParser<Value = Lever> {
    let described = |lever: Lever| {
        let home = if lever.is_of(Home::Plimsoll) { "" } else { "; with --as tensorflow" };
        let facts = lever.facts();
        PossibleValue::new(lever.name()).help(format!(
            "{} ({}{home})",
            facts.what,
            facts.also_called.join(", ")
        ))
    };
    let names = PossibleValuesParser::new(Lever::to_be_allowed().map(described));
    names.map(|name| Lever::parse(&name).expect("the parser knows levers only"))
}

fn as_text(report: &FitReport) -> String {
    let mut sections = vec![report.headline.clone(), stages(report), roles(report)];
    if report.frontier.len() > 1 {
        sections.push(frontier(report));
    }
    if let Some(changes) = &report.changes {
        sections.push(format!("not the same numbers as written: {}", visible::line(changes)));
    }
    if !report.advice.is_empty() {
        sections.push(advice(report));
    }
    let next = wording::command(&Call::TrainPlan(report.plan.clone()));
    sections.push(format!("wrote {}\nhint: {next}", report.plan.display()));
    sections.join("\n\n")
}

fn stages(report: &FitReport) -> String {
    let mut table = Table::new(["", "peak", "time/step", ""]).right(1).right(2);
    for (position, stage) in report.levers.iter().enumerate() {
        let lever = if position == 0 { stage.lever.clone() } else { format!("+ {}", stage.lever) };
        let misses = position == 0 && stage.peak_bytes > report.budget_bytes;
        let note = if misses { format!("does not fit {}", report.budget_bytes) } else { stage.note.clone() };
        table.row([lever, stage.peak_bytes.to_string(), seconds(stage.seconds), note]);
    }
    let headroom = report.budget_bytes.saturating_sub(report.peak_bytes);
    let verdict = format!("fits, headroom {headroom}, fragmentation {}", report.fragmentation_bytes);
    table.row(["plan".to_string(), report.peak_bytes.to_string(), seconds(report.seconds_per_step), verdict]);
    let guess = match report.calibrated {
        true => "",
        false => "\n(times are a guess until `plimsoll calibrate` has measured this machine)",
    };
    format!("{}{}{guess}", table.print(), known_as(report))
}

/// What others call the lever that most people look for under another name, where it was used.
fn known_as(report: &FitReport) -> String {
    let recompute = Change::Recompute.to_string();
    match report.levers.iter().any(|stage| stage.lever == recompute) {
        true => format!("\n({recompute} is also called {})", Lever::Recompute.facts().also_called.join(", ")),
        false => String::new(),
    }
}

/// The roles that live across steps and those that live within one, with what they are called here.
const PERSISTENT: [(Role, &str); 4] = [
    (Role::Parameter, "parameters"),
    (Role::OptimizerState, "optimizer"),
    (Role::Statistic, "statistics"),
    (Role::Accumulator, "accumulators"),
];
const TRANSIENT: [(Role, &str); 4] = [
    (Role::Activation, "activations"),
    (Role::Gradient, "gradients"),
    (Role::Input, "input"),
    (Role::Workspace, "workspace"),
];

fn roles(report: &FitReport) -> String {
    let held = |role: &Role| report.by_role.get(&role.to_string()).copied().unwrap_or_default();
    let parts = |roles: &[(Role, &str)]| {
        let named = roles.iter().filter(|(role, _)| held(role) > Bytes::ZERO);
        named.map(|(role, name)| format!("{name} {}", held(role))).collect::<Vec<_>>().join(" · ")
    };
    let mut table = Table::new(["live at the peak", "", "", ""]).right(1);
    for (name, roles) in [("held across steps", &PERSISTENT[..]), ("within a step", &TRANSIENT[..])] {
        let bytes: Bytes = roles.iter().map(|(role, _)| held(role)).sum();
        let bar = chart::bar(bytes, report.floor_bytes, 24);
        table.row([name.to_string(), bytes.to_string(), bar, parts(roles)]);
    }
    table.print()
}

fn frontier(report: &FitReport) -> String {
    let mut table =
        Table::new(["memory against time", "time/step", "more work", ""]).right(0).right(1).right(2);
    let slowest = report.frontier.iter().map(|point| point.seconds).fold(0.0, f64::max);
    for point in &report.frontier {
        let here = if point.peak_bytes == report.peak_bytes { " ◀ plan" } else { "" };
        let length = (point.seconds / slowest * 1e6) as u64;
        let bar = chart::bar(Bytes(length), Bytes(1_000_000), 24);
        let work = format!("{:.1} %", 100.0 * point.extra_flops_fraction);
        table.row([point.peak_bytes.to_string(), seconds(point.seconds), work, format!("{bar}{here}")]);
    }
    table.print()
}

fn advice(report: &FitReport) -> String {
    let lines = report
        .advice
        .iter()
        .map(|advice| format!("  --allow {}: {} · {}", advice.lever, advice.change, advice.peak_bytes));
    format!("also possible if you allow it\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s => format!("{s:.2} s"),
    }
}
