//! `plimsoll replay`: what a recorded trace would cost under other allocators, and with a plan.

use crate::failure::Failure;
use crate::output;
use crate::recording::recording;
use crate::size::size;
use crate::table::Table;
use clap::Args;
use plimsoll::Bytes;
use plimsoll::memory::AllocatorOptions;
use plimsoll::memory::TorchOptions;
use plimsoll::replay::{Question, RESUMED, compare_recording};
use plimsoll::reports::{RanOut, ReplayReport};
use std::process::ExitCode;

/// `plimsoll replay`
#[derive(Args)]
pub struct Replay {
    /// A trace: what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a profile of TensorFlow's
    /// (.xplane.pb) or a memory snapshot of PyTorch's (.pickle), gzip or not; - for standard input
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// Which allocators: bfc (TensorFlow), torch and torch-expandable (PyTorch), best-fit, bump, planned
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "bfc,torch,torch-expandable,best-fit,planned",
        value_parser = allocator
    )]
    pub allocator: Vec<String>,
    /// What each allocator may take, such as 512MiB [default: as much as it likes]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub limit: Option<Bytes>,
    /// Whether bfc grows region by region (on) or takes its whole limit at once (off, TensorFlow's default on a GPU)
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true, value_parser = ["on", "off"])]
    pub growth: String,
    /// Settings of PyTorch's allocator, as in PYTORCH_CUDA_ALLOC_CONF, such as
    /// max_split_size_mb:128,garbage_collection_threshold:0.8
    #[arg(long, value_name = "SETTINGS", value_parser = torch_conf)]
    pub torch_conf: Option<TorchOptions>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(arguments: &Replay) -> Result<ExitCode, Failure> {
    let recording = recording(&arguments.trace)?;
    let mut options = AllocatorOptions::default();
    options.bfc.growth = arguments.growth == "on";
    options.torch = arguments.torch_conf.unwrap_or_default();
    let question = Question {
        allocators: arguments.allocator.clone(),
        options,
        limit: arguments.limit,
        ..Question::default()
    };
    let comparison =
        compare_recording(&recording, &question).map_err(|error| Failure::usage(error.to_string(), None))?;
    let report = ReplayReport::of(&comparison, &recording.trace, arguments.limit);
    tell_start(&report);
    if report.shortened {
        output::note("steps that are the same as earlier ones are replayed once");
    }
    output::report(arguments.json, &report, || as_text(&report))?;
    let ran_out = report.allocators.iter().any(|row| row.out_of_memory.is_some());
    Ok(ExitCode::from(u8::from(ran_out)))
}

/// A recording that begins in the middle has blocks that were live before it.
fn tell_start(report: &ReplayReport) {
    let before = report.as_recorded.as_ref().map_or(0, |recorded| recorded.blocks_before);
    if before == 0 {
        return;
    }
    let resumed = report.allocators.iter().find(|row| row.allocator.ends_with(RESUMED));
    let resumed = resumed.map_or(String::new(), |row| {
        format!("; `{}` goes on from the pool as it was recorded", row.allocator)
    });
    output::tell(format!(
        "note: the recording begins with {before} blocks that are live; allocators begin with nothing and take these first{resumed}"
    ));
}

fn as_text(report: &ReplayReport) -> String {
    let limit = report.limit_bytes.map_or("no limit".to_string(), |limit| format!("limit {limit}"));
    let head = format!("{} events · floor {} · {limit}", report.events, report.floor_bytes);
    let names =
        ["allocator", "peak in use", "peak reserved", "worst fragmentation", "smallest limit", "ran out"];
    let mut table = Table::new(names).right(1).right(2).right(3).right(4);
    if let Some(recorded) = &report.as_recorded {
        table.row([
            "as recorded".to_string(),
            recorded.peak_in_use_bytes.to_string(),
            recorded.peak_reserved_bytes.map_or("-".to_string(), |bytes| bytes.to_string()),
            "-".to_string(),
            "-".to_string(),
            "-".to_string(),
        ]);
    }
    for row in &report.allocators {
        table.row([
            row.allocator.clone(),
            row.peak_in_use_bytes.to_string(),
            row.peak_reserved_bytes.to_string(),
            format!("{:.1} %", 100.0 * row.worst_fragmentation),
            row.smallest_limit_bytes.map_or("none".to_string(), |limit| limit.to_string()),
            row.out_of_memory.as_ref().map_or("-".to_string(), place_of),
        ]);
    }
    format!("{head}\n\n{}", table.print())
}

fn place_of(ran_out: &RanOut) -> String {
    let RanOut { event, op, requested_bytes, free_bytes, largest_free_bytes } = ran_out;
    let who = if op.is_empty() { String::new() } else { format!(" for {op}") };
    format!("at event {event}: {requested_bytes}{who}, {free_bytes} free, {largest_free_bytes} in one block")
}

/// Settings in PyTorch's own words.
pub fn torch_conf(text: &str) -> Result<TorchOptions, String> {
    let hint = "write them like max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]";
    TorchOptions::parse(text).map_err(|error| format!("{error}\n  hint: {hint}"))
}

fn allocator(name: &str) -> Result<String, String> {
    let names = plimsoll::replay::names();
    match names.contains(&name) {
        true => Ok(name.to_string()),
        false => {
            Err(format!("there is no allocator `{name}`\n  hint: the allocators are {}", names.join(", ")))
        }
    }
}
