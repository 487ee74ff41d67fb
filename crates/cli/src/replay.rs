//! `plimsoll replay`: what a recorded trace would cost under other allocators, and with a plan.

use crate::failure::Failure;
use crate::recording::recording;
use crate::size::size;
use crate::table::Table;
use clap::Args;
use plimsoll::Bytes;
use plimsoll::memory::AllocatorOptions;
use plimsoll::memory::replay::Shortage;
use plimsoll::replay::{Comparison, Question, Recording, Row, compare};
use plimsoll::trace::{Trace, happened};
use serde_json::{Value, json};
use std::process::ExitCode;

/// `plimsoll replay`
#[derive(Args)]
pub struct Replay {
    /// A trace: what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a profile of TensorFlow's (.xplane.pb) or a
    /// memory snapshot of PyTorch's (.pickle), gzip or not; - for standard input
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
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(arguments: &Replay) -> Result<ExitCode, Failure> {
    let Recording { trace, .. } = recording(&arguments.trace)?;
    if happened(&trace) > trace.events.len() as u64 {
        eprintln!("note: steps that are the same as earlier ones are replayed once");
    }
    let mut options = AllocatorOptions::default();
    options.bfc.growth = arguments.growth == "on";
    let question = Question { allocators: arguments.allocator.clone(), options, limit: arguments.limit };
    let comparison = compare(&trace, &question).map_err(|error| Failure::usage(error.to_string(), None))?;
    match arguments.json {
        true => println!("{:#}", as_json(&comparison, &trace)),
        false => println!("{}", as_text(&comparison, &trace, arguments)),
    }
    let ran_out = comparison.rows.iter().any(|row| row.outcome.out_of_memory.is_some());
    Ok(ExitCode::from(u8::from(ran_out)))
}

fn as_text(comparison: &Comparison, trace: &Trace, arguments: &Replay) -> String {
    let limit = arguments.limit.map_or("no limit".to_string(), |limit| format!("limit {limit}"));
    let head = format!("{} events · floor {} · {limit}", comparison.events, comparison.floor);
    let names =
        ["allocator", "peak in use", "peak reserved", "worst fragmentation", "smallest limit", "ran out"];
    let mut table = Table::new(names).right(1).right(2).right(3).right(4);
    for Row { allocator, outcome, smallest_limit } in &comparison.rows {
        table.row([
            allocator.clone(),
            outcome.peak_in_use.to_string(),
            outcome.peak_reserved.to_string(),
            format!("{:.1} %", 100.0 * outcome.worst_fragmentation),
            smallest_limit.map_or("none".to_string(), |limit| limit.to_string()),
            outcome.out_of_memory.map_or("-".to_string(), |shortage| place_of(&shortage, trace)),
        ]);
    }
    format!("{head}\n\n{}", table.print())
}

fn place_of(shortage: &Shortage, trace: &Trace) -> String {
    let Shortage { event, requested, free, largest_free, .. } = shortage;
    let op = op(shortage, trace);
    let who = if op.is_empty() { String::new() } else { format!(" for {op}") };
    format!("at event {event}: {requested}{who}, {free} free, {largest_free} in one block")
}

/// The op that asked for what it did not get, or the value where the op is not known.
fn op<'a>(shortage: &Shortage, trace: &'a Trace) -> &'a str {
    let label = trace.labels.get(shortage.label.0 as usize);
    label.map_or("", |label| if label.op.is_empty() { &label.value } else { &label.op })
}

fn as_json(comparison: &Comparison, trace: &Trace) -> Value {
    let shortage = |shortage: &Shortage| {
        json!({
            "event": shortage.event,
            "op": op(shortage, trace),
            "requested_bytes": shortage.requested,
            "free_bytes": shortage.free,
            "largest_free_bytes": shortage.largest_free,
        })
    };
    let row = |row: &Row| {
        json!({
            "allocator": row.allocator,
            "peak_in_use_bytes": row.outcome.peak_in_use,
            "peak_reserved_bytes": row.outcome.peak_reserved,
            "worst_fragmentation": row.outcome.worst_fragmentation,
            "out_of_memory": row.outcome.out_of_memory.as_ref().map(shortage),
            "smallest_limit_bytes": row.smallest_limit,
        })
    };
    let rows: Vec<Value> = comparison.rows.iter().map(row).collect();
    json!({"floor_bytes": comparison.floor, "events": comparison.events, "allocators": rows})
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
