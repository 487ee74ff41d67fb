//! `plimsoll diagnose`: why memory ran out, from the log.

use crate::failure::Failure;
use crate::notes;
use crate::output::{self, Channel};
use crate::size::size;
use crate::step::optimizer;
use crate::table::Table;
use crate::terminal;
use crate::wording;
use clap::Args;
use plimsoll::findings::{ChunkFindings, Findings, ModelFindings, Squeezed};
use plimsoll::import::evidence::{self, EvidenceError};
use plimsoll::import::oomlog::Log;
use plimsoll::report::diagnosis::{html, text};
use plimsoll::state::input_file;
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, Job, JobRequest, OpenedJob};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `plimsoll diagnose`
///
/// Exit codes: 0 diagnosed, 1 even a planned step of --model does not fit the limit, 2 no report in the input.
#[derive(Args)]
pub struct Diagnose {
    /// A log, notebook or kernel log in which out-of-memory reports may be buried, or a PyTorch memory snapshot, gzip
    /// or not; - for standard input
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
    /// What the device or host has, where the log does not say it, such as 8GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// Write a page with the map of the pool, self-contained; - for standard output
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// How many reports are printed in full.
const PRINTED: usize = 5;

/// Runs the command.
pub fn run(arguments: &Diagnose) -> Result<ExitCode, Failure> {
    let channel = Channel::beside(&[arguments.output.as_deref()], arguments.json)?;
    let job = arguments.job()?;
    let log = read(&arguments.file)?;
    arguments.tell_memory_is_said(&log);
    let found = Findings::of(log, job.as_ref(), arguments.memory)?.worded(wording::ask, wording::hint);
    if let Some(path) = &arguments.output {
        let page = html::print(&format!("Out of memory: {}", arguments.file), &found.diagnoses);
        output::file(path, page.as_bytes())?;
        if channel == Channel::Output {
            output::tell(format!("wrote {}", path.display()));
        }
    }
    channel.report(arguments.json, &found.json(), || as_text(&found))?;
    Ok(ExitCode::from(u8::from(found.is_hopeless())))
}

impl Diagnose {
    /// The model that ran, where it is named.
    fn job(&self) -> Result<Option<Job>, Failure> {
        let (Some(model), Some(batch)) = (&self.model, self.batch) else { return Ok(None) };
        let request = JobRequest { batch, optimizer: Some(self.optimizer), ..JobRequest::of(model) };
        let OpenedJob { job, notes, .. } = request.open()?;
        notes::tell(&notes);
        Ok(Some(job))
    }

    /// What a log says itself is not replaced.
    fn tell_memory_is_said(&self, log: &Log) {
        let Some(memory) = self.memory else { return };
        let other = log.dumps.iter().filter_map(|dump| dump.limit).find(|limit| limit.size() != memory);
        if let Some(limit) = other {
            output::tell(format!(
                "note: the log says {} itself; --memory {memory} is for reports that do not",
                limit.size()
            ));
        }
    }
}

fn read(path: &str) -> Result<Log, Failure> {
    let name = if path == "-" { "standard input" } else { path };
    let failed = |error: EvidenceError| Failure::usage(format!("{name}: {error}"), None);
    let file = input_file::open(Path::new(path))
        .map_err(|error| Failure::closed(format!("cannot open {name}: {error}"), &error))?;
    let log = evidence::read(file).map_err(failed)?;
    if let Some(broken) = &log.broken {
        output::note(format!("the input ends early: {broken}"));
    }
    if log.dumps.is_empty() {
        return Err(nothing_found(name, &log));
    }
    if let Some(reason) = &log.unread {
        output::note(format!("evidence of this program is left out: {reason}"));
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
    let hint = "a report is TensorFlow's allocator dump or traceback, an out-of-memory message of PyTorch, XLA or CUDA, the kernel's log of \
                a process that it ended, `Killed` or exit code 137, evidence of plimsoll, or a snapshot of PyTorch's; TensorFlow prints \
                its dump to standard error unless TF_CPP_MIN_LOG_LEVEL is 1 or more";
    Failure::usage(format!("{name}: no out-of-memory report found"), Some(hint.to_string()))
}

fn as_text(found: &Findings) -> String {
    let count = found.diagnoses.len();
    let all = count as u64 + found.skipped;
    let mut printed = Vec::new();
    for (number, diagnosis) in found.diagnoses.iter().enumerate().take(PRINTED) {
        let head = format!("── report {} of {all}, line {}\n", number + 1, diagnosis.dump.line);
        printed.push(
            if count > 1 { head } else { String::new() }
                + &text::print_within(diagnosis, terminal::columns()),
        );
        printed.extend(found.models.get(number).map(model_text));
    }
    if count > PRINTED {
        printed.push(format!("and {} more reports (--json lists them)", all - PRINTED as u64));
    }
    printed.join("\n\n")
}

/// Who the large chunks are, and the plan.
fn model_text(model: &ModelFindings) -> String {
    let head = ["chunks in use", "each", "", "values of the step with this size"];
    let mut table = Table::new(head).right(0).right(1);
    for known in &model.chunks {
        let sign = if known.exact { "" } else { "<" };
        table.row([
            known.chunks.to_string(),
            known.chunk_bytes.to_string(),
            sign.to_string(),
            describe(known),
        ]);
    }
    if model.chunks.is_empty() {
        return verdict(model);
    }
    let legend = "(< the value is smaller: an unsplit chunk, or something else)";
    format!("{}\n{legend}\n\n{}", table.print(), verdict(model))
}

/// Whether a planned step fits what the pool had, and what would make it fit.
fn verdict(model: &ModelFindings) -> String {
    let ModelFindings { model: name, batch, planned_peak_bytes: peak, .. } = model;
    let head = format!("a planned step of {name} with batch {batch} needs {peak}");
    let Some(limit) = model.limit_bytes else { return head };
    match (&model.squeezed, &model.hint) {
        (Some(squeezed), _) => format!("{head}; {}", explain(squeezed, limit)),
        (None, Some(hint)) => format!("{head}, more than the limit of {limit}; {hint}"),
        (None, None) => {
            format!("{head} and fits the limit of {limit}, headroom {}", limit.saturating_sub(*peak))
        }
    }
}

fn explain(squeezed: &Squeezed, limit: Bytes) -> String {
    let Squeezed { peak_bytes, extra_time_fraction, micro_batches } = squeezed;
    let parts =
        if *micro_batches == 1 { String::new() } else { format!(" in {micro_batches} micro-batches") };
    let slower = 100.0 * extra_time_fraction;
    format!(
        "`plimsoll fit` makes it {peak_bytes}{parts}, which fits the limit of {limit}, for {slower:.0} % more time"
    )
}

fn describe(known: &ChunkFindings) -> String {
    let roles: Vec<String> = known.roles.iter().map(|(role, count)| format!("{count} {role}")).collect();
    let more = if known.roles.values().sum::<usize>() > known.values.len() { ", ..." } else { "" };
    format!("{}: {}{more}", roles.join(", "), known.values.join(", "))
}
