//! `plimsoll inspect`: where the memory of a training step goes.

mod tensorflow;

use crate::chart;
use crate::failure::Failure;
use crate::foreign::{Foreign, Framework};
use crate::output;
use crate::step::Step;
use crate::table::Table;
use crate::{notes, searching, terminal, wording};
use clap::Args;
use plimsoll::Bytes;
use plimsoll::graph::Role;
use plimsoll::hint::Call;
use plimsoll::import::keras::Outline;
use plimsoll::reports::{HoldingReport, InspectReport, MomentReport};
use plimsoll::specification;
use plimsoll::trace::{shown, visible};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// `plimsoll inspect`
#[derive(Args)]
pub struct Inspect {
    /// The step that is looked at.
    #[command(flatten)]
    pub step: Step,
    /// How many layers and values to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// What would run the step instead of Plimsoll.
    #[command(flatten)]
    pub foreign: Foreign,
}

/// Runs the command.
pub fn run(arguments: &Inspect) -> Result<ExitCode, Failure> {
    arguments.foreign.refuse_idle_options()?;
    if let Some(Framework::Tensorflow) = arguments.foreign.framework {
        return tensorflow::run(arguments);
    }
    let found = arguments.step.request().inspect(arguments.step.memory);
    searching::clear();
    let report = match found {
        Ok(report) => report,
        Err(error) => {
            let outline = specification::outline(arguments.step.model()).filter(|_| !arguments.step.json);
            if let Some(outline) =
                outline.filter(|outline| outline.layers.iter().any(|layer| layer.problem.is_some()))
            {
                output::text(&layers_of_file(&outline))?;
            }
            return Err(error.into());
        }
    };
    notes::tell(&report.notes);
    output::report(arguments.step.json, &report, || as_text(&report, arguments))?;
    Ok(ExitCode::SUCCESS)
}

/// What a file says about its layers, where some of them stop the rest.
fn layers_of_file(outline: &Outline) -> String {
    let mut table = Table::new(["layer", "class", "parameters", ""]).right(2);
    for layer in &outline.layers {
        let parameters = layer.parameters.map_or_else(String::new, |count| count.to_string());
        let problem =
            layer.problem.as_ref().map_or_else(String::new, |problem| format!("stops here: {problem}"));
        table.row([
            visible::line(&layer.name).into_owned(),
            visible::line(&layer.class).into_owned(),
            parameters,
            visible::line(&problem).into_owned(),
        ]);
    }
    let known: u64 = outline.layers.iter().filter_map(|layer| layer.parameters).sum();
    format!(
        "{}: {} layers, {known} parameters in the file\n{}\n",
        visible::line(&outline.name),
        outline.layers.len(),
        table.print()
    )
}

fn as_text(report: &InspectReport, arguments: &Inspect) -> String {
    let top = arguments.top;
    let layers: Vec<(&str, Bytes)> =
        report.layers.iter().map(|layer| (layer.name.as_str(), layer.bytes_at_peak)).collect();
    let sections = [
        report.headline.clone(),
        levers(report),
        roles(report),
        format!("live bytes over the {} ops of a step\n{}", report.ops, curve(&report.timeline)),
        layer_table(layers, top),
        live(&report.live_at_peak, top),
        verdict(report, arguments.step.model()),
    ];
    sections.join("\n\n") + "\n"
}

fn verdict(report: &InspectReport, model: &str) -> String {
    let peak = report.run_peak_bytes;
    match report.budget_bytes {
        Some(budget) => format!("fits {budget}, headroom {}", budget.saturating_sub(peak)),
        None => {
            let call = Call::Train { model: model.to_string(), batch: report.batch, memory: peak };
            format!("hint: {}", wording::command(&call))
        }
    }
}

/// The peak without the levers, then with each of them.
fn levers(report: &InspectReport) -> String {
    let mut table = Table::new(["", "peak", ""]).right(1);
    for (position, lever) in report.levers.iter().enumerate() {
        let sign = if position == 0 { "" } else { "+ " };
        table.row([format!("{sign}{}", lever.lever), lever.peak_bytes.to_string(), String::new()]);
    }
    let figures = format!("floor {}, fragmentation {}", report.floor_bytes, report.fragmentation_bytes);
    table.row(["plan".to_string(), report.peak_bytes.to_string(), figures]);
    table.print()
}

fn roles(report: &InspectReport) -> String {
    let of = if report.worst_layer.is_empty() { "" } else { " of " };
    let during = format!("(during {}{of}{})", report.worst_op, report.worst_layer);
    let during = visible::line(&during);
    format!("{}\n{during}", role_table(&report.by_role, report.floor_bytes))
}

/// What each role has, in the order of a step; roles that have nothing are left out.
fn role_table(by_role: &BTreeMap<String, Bytes>, whole: Bytes) -> String {
    let mut table = Table::new(["live at the peak", "", ""]).right(1);
    for role in Role::ALL {
        let bytes = by_role.get(&role.to_string()).copied().unwrap_or_default();
        if bytes > Bytes::ZERO {
            table.row([role_name(role).to_string(), bytes.to_string(), chart::bar(bytes, whole, 40)]);
        }
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

fn curve(timeline: &[MomentReport]) -> String {
    let live: Vec<Bytes> = timeline.iter().map(|moment| moment.live_bytes).collect();
    chart::curve(&live, terminal::chart_columns(), 8)
}

fn layer_table(mut layers: Vec<(&str, Bytes)>, top: usize) -> String {
    layers.retain(|(layer, bytes)| !layer.is_empty() && *bytes > Bytes::ZERO);
    // A stable sort: equal layers stay in the order of the model.
    layers.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let most = layers.first().map_or(Bytes::ZERO, |(_, bytes)| *bytes);
    let mut table = Table::new(["largest layers at the peak", "", ""]).right(1);
    for (layer, bytes) in layers.iter().take(top) {
        table.row([layer.to_string(), bytes.to_string(), chart::bar(*bytes, most, 24)]);
    }
    if layers.len() > top {
        let rest: Bytes = layers[top..].iter().map(|(_, bytes)| *bytes).sum();
        table.row([format!("and {} more", layers.len() - top), rest.to_string(), String::new()]);
    }
    table.print()
}

fn live(live: &[HoldingReport], top: usize) -> String {
    let mut table = Table::new(["largest values at the peak", "role", "size"]).right(2);
    for holding in live.iter().take(top) {
        table.row([shown(&holding.value, holding.again), holding.role.clone(), holding.bytes.to_string()]);
    }
    table.print()
}
