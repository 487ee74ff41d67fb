//! `plimsoll inspect --as tensorflow`: what TensorFlow would need for the same step.

use super::{Inspect, curve, layer_table, role_table};
use crate::failure::Failure;
use crate::notes;
use crate::output;
use crate::table::Table;
use plimsoll::Bytes;
use plimsoll::reports::PredictionReport;
use plimsoll::tensorflow::Elsewhere;
use plimsoll::trace::visible;
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: &Inspect) -> Result<ExitCode, Failure> {
    refuse_what_has_no_meaning(arguments)?;
    let report = arguments.foreign.request(&arguments.step).run()?;
    notes::tell(&report.notes);
    output::report(arguments.step.json, &report, || as_text(&report, arguments.top))?;
    Ok(ExitCode::from(u8::from(report.fits == Some(false))))
}

fn refuse_what_has_no_meaning(arguments: &Inspect) -> Result<(), Failure> {
    if arguments.step.threads.is_some() {
        let hint = "predictions are for one thread, on which TensorFlow's order of kernels is known; leave out --threads";
        return Err(Failure::usage("--threads says nothing about TensorFlow", Some(hint.to_string())));
    }
    Ok(())
}

fn as_text(report: &PredictionReport, top: usize) -> String {
    let layers = report.layers.iter().map(|layer| (layer.name.as_str(), layer.bytes_at_peak)).collect();
    let mut sections = vec![
        format!("{}\nas TensorFlow would run it: {}", report.headline, words(report)),
        peaks(report),
        elsewhere(report),
        role_table(&report.by_role, report.live_peak_bytes),
        format!(
            "live bytes over the {} kernels of a step\n{}",
            report.timeline.len(),
            curve(&report.timeline)
        ),
        layer_table(layers, top),
        holders(report, top),
    ];
    sections.extend(verdict(report));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

fn words(report: &PredictionReport) -> String {
    let accumulated = match report.accumulate {
        1 => String::new(),
        steps => format!(", gradients of {steps} steps added up"),
    };
    let device = report.device.to_uppercase();
    format!("{} mode, {}, {device}{accumulated}", report.mode, report.precision)
}

fn peaks(report: &PredictionReport) -> String {
    let mut table = Table::new(["", "", ""]).right(1).list();
    let mut row =
        |name: &str, bytes: String, note: &str| table.row([name.to_string(), bytes, note.to_string()]);
    row("live peak", report.live_peak_bytes.to_string(), "bytes that tensors ask for");
    let band = &report.live_band;
    let known = format!("between them in {} of 100 steps that were measured", report.coverage_percent);
    row("  at least", band.low.to_string(), &known);
    row("  at most", band.high.to_string(), "");
    row("reported peak", report.reported_peak_bytes.to_string(), "the same as chunks of its allocator");
    let limit = report.smallest_limit_bytes.map_or("none".to_string(), |limit| limit.to_string());
    row("smallest limit", limit, "with which three steps run");
    for (name, bytes) in &report.allowances_not_measured {
        row(&format!("+ {name}"), bytes.to_string(), "an allowance: not measured here");
    }
    for (name, bytes, note) in [
        ("+ in hand", report.in_hand_bytes, "because predictions may be too low"),
        ("+ input that waits", report.waiting_bytes, "two batches of a tf.data pipeline"),
    ] {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > Bytes::ZERO) {
            row(name, bytes.to_string(), note);
        }
    }
    if let Some(needed) = report.needed_bytes {
        row("needed", needed.to_string(), "what `fit --as tensorflow` asks for");
    }
    row("Plimsoll", report.plimsoll_peak_bytes.to_string(), "the same step here, in float32");
    let table = table.print();
    let unsure = match &report.live_band.unsure[..] {
        [] => String::new(),
        layers => format!(
            "\n\nnot known from measurements, so the bounds are wide and more is kept in hand: {}",
            shortened(layers)
        ),
    };
    (table + &unsure).trim_start_matches(['\n', ' ']).to_string()
}

/// What other settings have changed where they were measured.
fn elsewhere(report: &PredictionReport) -> String {
    let line = |one: &Elsewhere| {
        let Elsewhere { settings, less_percent, more_percent, steps } = one;
        format!("{settings}: {steps} measured steps took from {less_percent} % less to {more_percent} % more")
    };
    let lines: Vec<String> = report.elsewhere.iter().map(line).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("predicted for one thread without oneDNN\n{}", lines.join("\n")),
    }
}

/// The first few names.
fn shortened(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let more = if names.len() > shown.len() {
        format!(" and {} more", names.len() - shown.len())
    } else {
        String::new()
    };
    visible::line(&format!("{}{more}", shown.join(", "))).into_owned()
}

fn holders(report: &PredictionReport, top: usize) -> String {
    let mut table = Table::new(["largest tensors at the peak", "size"]).right(1);
    for tensor in report.live_at_peak.iter().take(top) {
        table.row([tensor.value.clone(), tensor.bytes.to_string()]);
    }
    table.print()
}

fn verdict(report: &PredictionReport) -> Option<String> {
    let memory = report.budget_bytes?;
    Some(match report.needed_bytes {
        Some(needed) if needed <= memory => {
            format!("fits {memory}, headroom {}", memory.saturating_sub(needed))
        }
        Some(needed) => format!("does not fit {memory}: {needed} are needed"),
        None => format!("does not fit {memory}"),
    })
}
