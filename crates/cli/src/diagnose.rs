//! `plimsoll diagnose`: why memory ran out, from the log.

use crate::failure::Failure;
use crate::step::optimizer;
use crate::table::Table;
use crate::wording;
use clap::Args;
use plimsoll::identify::{Identified, identify};
use plimsoll::import::evidence::{self, EvidenceError};
use plimsoll::import::oomlog::Log;
use plimsoll::report::diagnosis::{self, Diagnosis, html, json, text};
use plimsoll::train::Optimizer;
use plimsoll::{Allow, Bytes, Job, Prepared, fit, specification};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

/// `plimsoll diagnose`
///
/// Exit codes: 0 diagnosed, 1 even a planned step of --model does not fit the limit, 2 no report in the input.
#[derive(Args)]
pub struct Diagnose {
    /// A log in which out-of-memory reports may be buried, or a PyTorch memory snapshot, gzip or not; - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// The model that ran, such as resnet50@224: says who the large chunks are, and plans a step that fits the limit
    #[arg(long, value_name = "MODEL", requires = "batch")]
    pub model: Option<String>,
    /// Samples in a step of that model
    #[arg(long, value_name = "N", requires = "model")]
    pub batch: Option<usize>,
    /// The optimizer of that model
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = optimizer)]
    pub optimizer: Optimizer,
    /// Write a page with the map of the pool, self-contained
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// How many reports are printed in full.
const PRINTED: usize = 5;
/// How many sizes of chunks are identified.
const IDENTIFIED: usize = 12;

/// Runs the command.
pub fn run(arguments: &Diagnose) -> Result<ExitCode, Failure> {
    let prepared = prepare(arguments)?;
    let log = read(&arguments.file)?;
    let findings = Findings::of(log, prepared);
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
    Ok(ExitCode::from(u8::from(findings.plans.values().any(Result::is_err))))
}

/// The model that ran, planned; none where it is not named.
fn prepare(arguments: &Diagnose) -> Result<Option<Prepared>, Failure> {
    let (Some(model), Some(batch)) = (&arguments.model, arguments.batch) else { return Ok(None) };
    let mut job = Job::new(specification::find(model)?, batch);
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
        return Err(nothing_found(name, &log));
    }
    if let Some(reason) = &log.unread {
        eprintln!("note: evidence of this program is left out: {reason}");
    }
    Ok(log)
}

fn nothing_found(name: &str, log: &Log) -> Failure {
    if let Some(reason) = &log.unread {
        return Failure::usage(format!("{name}: the evidence in it cannot be read: {reason}"), None);
    }
    if log.sentences > 0 {
        let hint = "the line that begins with `evidence:` has the figures; an older version did not write it: run it again";
        let message = format!("{name}: plimsoll ran out of memory, but its evidence is not there");
        return Failure::usage(message, Some(hint.to_string()));
    }
    let hint = "a report is TensorFlow's allocator dump, an out-of-memory message of PyTorch or XLA, evidence of plimsoll, or a snapshot of \
                PyTorch's; TensorFlow prints its dump to standard error unless TF_CPP_MIN_LOG_LEVEL is 1 or more";
    Failure::usage(format!("{name}: no out-of-memory report found"), Some(hint.to_string()))
}

/// What was found in a log.
struct Findings {
    diagnoses: Vec<Diagnosis>,
    skipped: u64,
    did_without: u64,
    prepared: Option<Prepared>,
    /// For each limit that the step as it is does not fit, a plan that does, or what would make one fit.
    plans: BTreeMap<Bytes, Result<Squeezed, String>>,
}

/// A plan that fits a limit because something is computed again or the batch is cut.
struct Squeezed {
    peak: Bytes,
    extra_time: f64,
    micro_batches: usize,
}

impl Squeezed {
    fn as_json(&self) -> Value {
        json!({"peak_bytes": self.peak, "extra_time_fraction": self.extra_time, "micro_batches": self.micro_batches})
    }

    fn explain(&self, limit: Bytes) -> String {
        let parts = match self.micro_batches {
            1 => String::new(),
            parts => format!(" in {parts} micro-batches"),
        };
        let slower = 100.0 * self.extra_time;
        format!(
            "`plimsoll fit` makes it {}{parts}, which fits the limit of {limit}, for {slower:.0} % more time",
            self.peak
        )
    }
}

fn squeezed(prepared: &Prepared, limit: Bytes) -> Result<Squeezed, String> {
    let found = fit(&prepared.job, limit, Allow::default())
        .map_err(|error| error.hint().map_or_else(|| error.to_string(), |hint| wording::hint(&hint)))?;
    let (plan, extra_time) = (&found.prepared, found.extra_time());
    Ok(Squeezed { peak: plan.peak(), extra_time, micro_batches: plan.job.micro_batches })
}

impl Findings {
    fn of(log: Log, prepared: Option<Prepared>) -> Self {
        let (skipped, did_without) = (log.skipped, log.did_without);
        let limits = log.dumps.iter().filter_map(|dump| dump.limit).map(|limit| limit.size());
        let limits: BTreeSet<Bytes> = limits.collect();
        let plans = prepared.iter().flat_map(|prepared| {
            let short = limits.iter().filter(|limit| prepared.peak() > **limit);
            short.map(|&limit| (limit, squeezed(prepared, limit)))
        });
        let plans = plans.collect();
        let diagnoses = diagnosis::diagnose(log).into_iter().map(|diagnosis| diagnosis.worded(wording::ask));
        Self { diagnoses: diagnoses.collect(), skipped, did_without, prepared, plans }
    }

    fn as_text(&self) -> String {
        let count = self.diagnoses.len();
        let all = count as u64 + self.skipped;
        let mut printed = Vec::new();
        for (number, diagnosis) in self.diagnoses.iter().enumerate().take(PRINTED) {
            let head = format!("── report {} of {all}, line {}\n", number + 1, diagnosis.dump.line);
            printed.push(if count > 1 { head } else { String::new() } + &text::print(diagnosis));
            printed.extend(self.prepared.as_ref().map(|prepared| self.model_text(prepared, diagnosis)));
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
                dump["model"] = self.model_json(prepared, diagnosis);
            }
            dump
        });
        let dumps: Vec<Value> = dumps.collect();
        json!({"dumps": dumps, "skipped": self.skipped, "did_without": self.did_without})
    }

    /// Who the large chunks are, and the plan.
    fn model_text(&self, prepared: &Prepared, diagnosis: &Diagnosis) -> String {
        let head = ["chunks in use", "each", "", "values of the step with this size"];
        let mut table = Table::new(head).right(0).right(1);
        for known in identify(&diagnosis.dump, prepared.step().graph(), IDENTIFIED) {
            let sign = if known.exact { "" } else { "<" };
            table.row([known.count.to_string(), known.bytes.to_string(), sign.to_string(), describe(&known)]);
        }
        let legend = "(< the value is smaller: an unsplit chunk, or something else)";
        format!("{}\n{legend}\n\n{}", table.print(), self.verdict(prepared, diagnosis))
    }

    /// Whether a planned step fits what the pool had, and what would make it fit.
    fn verdict(&self, prepared: &Prepared, diagnosis: &Diagnosis) -> String {
        let (name, batch, peak) = (&prepared.job.model.name, prepared.job.batch, prepared.peak());
        let head = format!("a planned step of {name} with batch {batch} needs {peak}");
        let Some(limit) = diagnosis.dump.limit.map(|limit| limit.size()) else { return head };
        match self.plans.get(&limit) {
            None => format!("{head} and fits the limit of {limit}, headroom {}", limit.saturating_sub(peak)),
            Some(Ok(squeezed)) => format!("{head}; {}", squeezed.explain(limit)),
            Some(Err(hint)) => format!("{head}, more than the limit of {limit}; {hint}"),
        }
    }

    fn model_json(&self, prepared: &Prepared, diagnosis: &Diagnosis) -> Value {
        let known = identify(&diagnosis.dump, prepared.step().graph(), IDENTIFIED);
        let row = |known: &Identified| {
            let roles = known.roles.iter().map(|(role, count)| (role.to_string(), json!(count)));
            let roles: serde_json::Map<String, Value> = roles.collect();
            json!({"chunk_bytes": known.bytes, "chunks": known.count, "exact": known.exact, "roles": roles, "values": known.values})
        };
        let limit = diagnosis.dump.limit.map(|limit| limit.size());
        let squeezed = limit.and_then(|limit| self.plans.get(&limit));
        json!({
            "model": prepared.job.model.name,
            "batch": prepared.job.batch,
            "planned_peak_bytes": prepared.peak(),
            "fits": limit.map(|limit| !matches!(self.plans.get(&limit), Some(Err(_)))),
            "squeezed": squeezed.and_then(|plan| plan.as_ref().ok()).map(Squeezed::as_json),
            "hint": squeezed.and_then(|plan| plan.as_ref().err()),
            "chunks": known.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

fn describe(known: &Identified) -> String {
    let roles: Vec<String> = known.roles.iter().map(|(role, count)| format!("{count} {role}")).collect();
    let more = if known.roles.values().sum::<usize>() > known.values.len() { ", ..." } else { "" };
    format!("{}: {}{more}", roles.join(", "), known.values.join(", "))
}
