//! `plimsoll export`: a recorded trace for other tools, or a plan for TensorFlow.

use crate::failure::Failure;
use crate::output::{self, Channel};
use crate::recording::recording;
use clap::{Args, ValueEnum};
use plimsoll::ScriptRequest;
use plimsoll::report::export::{csv, perfetto, tensorboard};
use plimsoll::trace::{Trace, file, text};
use serde::Serialize;
use std::io::{IsTerminal, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `plimsoll export`
#[derive(Args)]
pub struct Export {
    /// A trace: what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a profile of TensorFlow's
    /// (.xplane.pb) or a memory snapshot of PyTorch's (.pickle), gzip or not; - for standard input. For --to
    /// tensorflow, a plan that `plimsoll fit` wrote
    #[arg(value_name = "TRACE|PLAN")]
    pub input: String,
    /// What is written
    #[arg(long, value_name = "FORM", value_enum)]
    pub to: ExportForm,
    /// Where it is written; - for standard output; for tensorboard a folder, which is made if it is missing
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Print one JSON object about what was written
    #[arg(long)]
    pub json: bool,
}

/// What other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportForm {
    /// JSON for ui.perfetto.dev and chrome://tracing: counters by role, a slice for each buffer
    Perfetto,
    /// An event file with scalars of live MiB by role
    Tensorboard,
    /// One row a buffer: value, role, layer, op, bytes, offset, begin, end
    Csv,
    /// The text form of a trace, one line an event
    Text,
    /// The binary form of a trace, as `train --trace` writes it
    Binary,
    /// From a plan, a Python script for TensorFlow; one of Plimsoll's own plans is searched anew with TensorFlow's
    /// levers
    Tensorflow,
}

/// The event file in a folder that is given to TensorBoard.
const EVENT_FILE: &str = "events.out.tfevents.0.plimsoll";

/// What was written.
#[derive(Serialize)]
struct Written {
    path: PathBuf,
    form: ExportForm,
    /// Of a trace; a script has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_left_out: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &Export) -> Result<ExitCode, Failure> {
    let channel = Channel::beside(&[Some(&arguments.output)], arguments.json)?;
    let written = match arguments.to {
        ExportForm::Tensorflow => write_script(arguments)?,
        _ => write_trace(arguments)?,
    };
    match (arguments.json, channel) {
        (true, _) => output::json(&written)?,
        // Whoever has it on standard output knows.
        (false, Channel::Beside) => {}
        (false, Channel::Output) => output::tell(as_text(&written)),
    }
    Ok(ExitCode::SUCCESS)
}

fn write_script(arguments: &Export) -> Result<Written, Failure> {
    let path = arguments.output.clone();
    let script = ScriptRequest { plan: PathBuf::from(&arguments.input), output: path.clone() }.run()?;
    output::file(&path, script.as_bytes())?;
    let hint = Some(format!("python {}", path.display()));
    Ok(Written { path, form: arguments.to, events: None, steps_left_out: None, hint })
}

fn write_trace(arguments: &Export) -> Result<Written, Failure> {
    let form = arguments.to;
    refuse_terminal(arguments)?;
    let trace = recording(&arguments.input)?.trace;
    let path = target(arguments)?;
    let left_out = output::fill(&path, |mut out| write(&trace, form, &mut out))?;
    if left_out > 0 {
        output::note(format!("{left_out} steps that are the same as earlier ones are left out"));
    }
    let (hint, events, steps_left_out) = (hint(form, &path), Some(trace.events.len()), Some(left_out));
    Ok(Written { path, form, events, steps_left_out, hint })
}

/// A terminal shows no bytes, and obeys some.
fn refuse_terminal(arguments: &Export) -> Result<(), Failure> {
    let binary = matches!(arguments.to, ExportForm::Binary | ExportForm::Tensorboard);
    match binary && arguments.output == Path::new("-") && std::io::stdout().is_terminal() {
        true => {
            let hint = "name a file, or send it to another program".to_string();
            Err(Failure::usage("this form is no text, and standard output is a terminal", Some(hint)))
        }
        false => Ok(()),
    }
}

/// The file that is written. TensorBoard opens folders, and finds files by their names.
fn target(arguments: &Export) -> Result<PathBuf, Failure> {
    let path = &arguments.output;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_file = arguments.to != ExportForm::Tensorboard || path == Path::new("-");
    if is_file || name.contains(tensorboard::NAME) && !path.is_dir() {
        return Ok(path.clone());
    }
    std::fs::create_dir_all(path).map_err(|error| {
        let message = format!("cannot make the folder {}: {error}", path.display());
        Failure::usage(message, Some("TensorBoard opens folders: name one".to_string()))
    })?;
    Ok(path.join(EVENT_FILE))
}

/// Writes one form; gives how many repetitions of steps were left out.
fn write(trace: &Trace, form: ExportForm, out: &mut impl Write) -> IoResult<usize> {
    match form {
        ExportForm::Perfetto => perfetto::write(trace, out),
        ExportForm::Tensorboard => tensorboard::write(trace, out),
        ExportForm::Csv => csv::write(trace, out).map(|()| 0),
        ExportForm::Text => out.write_all(text::print(trace).as_bytes()).map(|()| 0),
        ExportForm::Binary => file::write(trace, out).map(|()| 0),
        ExportForm::Tensorflow => unreachable!("a script is written from a plan"),
    }
}

/// How it is looked at.
fn hint(form: ExportForm, path: &Path) -> Option<String> {
    match form {
        ExportForm::Perfetto => Some("open it in https://ui.perfetto.dev or chrome://tracing".to_string()),
        ExportForm::Tensorboard => {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            Some(format!("tensorboard --logdir {}", folder.display()))
        }
        ExportForm::Csv | ExportForm::Text | ExportForm::Binary | ExportForm::Tensorflow => None,
    }
}

fn as_text(written: &Written) -> String {
    let events = written.events.map(|events| format!(" ({events} events)")).unwrap_or_default();
    let hint = written.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("wrote {}{events}{hint}", written.path.display())
}
