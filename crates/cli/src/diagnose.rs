//! `plimsoll diagnose`: why memory ran out, from the log.

use crate::arguments::Diagnose;
use crate::failure::Failure;
use crate::specification;
use crate::table::Table;
use plimsoll::identify::{Identified, identify};
use plimsoll::import::evidence::{self, EvidenceError};
use plimsoll::import::oomlog::Log;
use plimsoll::report::diagnosis::{self, Diagnosis, html, json, text};
use plimsoll::{Bytes, Job, JobError, Prepared};
use serde_json::{Value, json};
use std::fs::File;
use std::process::ExitCode;

/// How many reports are printed in full.
const PRINTED: usize = 5;
/// How many sizes of chunks are identified.
const IDENTIFIED: usize = 12;

/// Runs the command.
pub fn run(arguments: &Diagnose) -> Result<ExitCode, Failure> {
    let prepared = prepare(arguments)?;
    let log = read(&arguments.file)?;
    let findings = Findings {
        skipped: log.skipped,
        did_without: log.did_without,
        diagnoses: diagnosis::diagnose(log),
        prepared,
    };
    if let Some(path) = &arguments.output {
        let page = html::print(&format!("Out of memory: {}", arguments.file), &findings.diagnoses);
        std::fs::write(path, page)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display()), None))?;
        eprintln!("wrote {}", path.display());
    }
    match arguments.json {
        true => println!("{:#}", findings.as_json()),
        false => println!("{}", findings.as_text()),
    }
    Ok(ExitCode::from(u8::from(findings.plan_is_too_big())))
}

/// The model that ran, planned; none where it is not named.
fn prepare(arguments: &Diagnose) -> Result<Option<Prepared>, Failure> {
    let (Some(model), Some(batch)) = (&arguments.model, arguments.batch) else { return Ok(None) };
    let mut job = Job::new(specification::find(model, None)?, batch);
    job.optimizer = arguments.optimizer;
    Ok(Some(job.prepare()?))
}

fn read(path: &str) -> Result<Log, Failure> {
    let name = if path == "-" { "standard input" } else { path };
    let failed = |error: EvidenceError| Failure::usage(format!("{name}: {error}"), None);
    let log = match path {
        "-" => evidence::read(std::io::stdin().lock()).map_err(failed)?,
        _ => evidence::read(File::open(path).map_err(|error| failed(error.into()))?).map_err(failed)?,
    };
    if let Some(broken) = &log.broken {
        eprintln!("note: the input ends early: {broken}");
    }
    if log.dumps.is_empty() {
        let hint = "a report is TensorFlow's allocator dump, an out-of-memory message of PyTorch, XLA or plimsoll, or a snapshot of \
                    PyTorch's; TensorFlow prints its dump to standard error unless TF_CPP_MIN_LOG_LEVEL is 1 or more";
        return Err(Failure::usage(format!("{name}: no out-of-memory report found"), Some(hint.to_string())));
    }
    Ok(log)
}

/// What was found in a log.
struct Findings {
    diagnoses: Vec<Diagnosis>,
    skipped: u64,
    did_without: u64,
    prepared: Option<Prepared>,
}

impl Findings {
    /// Whether even a planned step of the model does not fit what the pool had.
    fn plan_is_too_big(&self) -> bool {
        let Some(prepared) = &self.prepared else { return false };
        let mut limits = self.diagnoses.iter().filter_map(|diagnosis| diagnosis.dump.limit);
        limits.any(|limit| prepared.peak() > limit.size())
    }

    fn as_text(&self) -> String {
        let count = self.diagnoses.len();
        let all = count as u64 + self.skipped;
        let mut printed = Vec::new();
        for (number, diagnosis) in self.diagnoses.iter().enumerate().take(PRINTED) {
            let head = format!("── report {} of {all}, line {}\n", number + 1, diagnosis.dump.line);
            printed.push(if count > 1 { head } else { String::new() } + &text::print(diagnosis));
            printed.extend(self.prepared.as_ref().map(|prepared| model_text(prepared, diagnosis)));
        }
        if count > PRINTED {
            printed.push(format!("and {} more reports (--json lists them)", all - PRINTED as u64));
        }
        printed.join("\n\n")
    }

    fn as_json(&self) -> Value {
        let dumps = self.diagnoses.iter().map(|diagnosis| {
            let mut dump = json::print(diagnosis);
            if let Some(prepared) = &self.prepared {
                dump["model"] = model_json(prepared, diagnosis);
            }
            dump
        });
        let dumps: Vec<Value> = dumps.collect();
        json!({"dumps": dumps, "skipped": self.skipped, "did_without": self.did_without})
    }
}

/// Who the large chunks are, and the plan.
fn model_text(prepared: &Prepared, diagnosis: &Diagnosis) -> String {
    let mut table =
        Table::new(["chunks in use", "each", "", "values of the step with this size"]).right(0).right(1);
    for known in identify(&diagnosis.dump, prepared.step().graph(), IDENTIFIED) {
        let sign = if known.exact { "" } else { "<" };
        table.row([known.count.to_string(), known.bytes.to_string(), sign.to_string(), describe(&known)]);
    }
    format!(
        "{}\n(< the value is smaller: an unsplit chunk, or something else)\n\n{}",
        table.print(),
        verdict(prepared, diagnosis)
    )
}

fn describe(known: &Identified) -> String {
    let roles: Vec<String> = known.roles.iter().map(|(role, count)| format!("{count} {role}")).collect();
    let more = if known.roles.values().sum::<usize>() > known.values.len() { ", ..." } else { "" };
    format!("{}: {}{more}", roles.join(", "), known.values.join(", "))
}

/// Whether a planned step fits what the pool had, and what would make it fit.
fn verdict(prepared: &Prepared, diagnosis: &Diagnosis) -> String {
    let (name, batch, peak) = (&prepared.job.model.name, prepared.job.batch, prepared.peak());
    let head = format!("a planned step of {name} with batch {batch} needs {peak}");
    match fits(prepared, diagnosis) {
        None => head,
        Some((limit, Ok(()))) => {
            format!("{head} and fits the limit of {limit}, headroom {}", limit.saturating_sub(peak))
        }
        Some((limit, Err(hint))) => format!("{head}, more than the limit of {limit}; {hint}"),
    }
}

/// The limit, and what would make the plan fit it, where it does not.
fn fits(prepared: &Prepared, diagnosis: &Diagnosis) -> Option<(Bytes, Result<(), String>)> {
    let limit = Bytes(diagnosis.dump.limit?.bytes);
    let result = match prepared.job.prepare_within(limit) {
        Ok(_) => Ok(()),
        Err(error) => Err(JobError::hint(&error).unwrap_or_else(|| error.to_string())),
    };
    Some((limit, result))
}

fn model_json(prepared: &Prepared, diagnosis: &Diagnosis) -> Value {
    let known = identify(&diagnosis.dump, prepared.step().graph(), IDENTIFIED);
    let row = |known: &Identified| {
        let roles: serde_json::Map<String, Value> =
            known.roles.iter().map(|(role, count)| (role.to_string(), json!(count))).collect();
        json!({"chunk_bytes": known.bytes, "chunks": known.count, "exact": known.exact, "roles": roles, "values": known.values})
    };
    let fits = fits(prepared, diagnosis).map(|(_, result)| result);
    json!({
        "model": prepared.job.model.name,
        "batch": prepared.job.batch,
        "planned_peak_bytes": prepared.peak(),
        "fits": fits.as_ref().map(Result::is_ok),
        "hint": fits.and_then(Result::err),
        "chunks": known.iter().map(row).collect::<Vec<_>>(),
    })
}
