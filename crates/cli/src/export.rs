//! `plimsoll export`: a recorded trace for other tools, or a plan for TensorFlow.

mod tensorflow;

use crate::failure::Failure;
use crate::recording::recording;
use clap::{Args, ValueEnum};
use plimsoll::report::export::{csv, perfetto, tensorboard};
use plimsoll::trace::{Trace, file, text};
use std::fs::File;
use std::io::{BufWriter, Result as IoResult, Write};
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
    /// Where it is written; - for standard output; a folder, for tensorboard
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// What other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

/// Runs the command.
pub fn run(arguments: &Export) -> Result<ExitCode, Failure> {
    if arguments.to == ExportForm::Tensorflow {
        return run_plan(arguments);
    }
    let trace = recording(&arguments.input)?.trace;
    let path = target(arguments);
    let failed = |error| Failure::usage(format!("cannot write {}: {error}", path.display()), None);
    let left_out = if path == Path::new("-") {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write(&trace, arguments.to, &mut out).and_then(|left_out| out.flush().map(|()| left_out))
    } else {
        let file = File::create(&path).map_err(failed)?;
        let mut out = BufWriter::new(file);
        write(&trace, arguments.to, &mut out).and_then(|left_out| out.flush().map(|()| left_out))
    };
    let left_out = left_out.map_err(failed)?;
    if left_out > 0 {
        eprintln!("note: {left_out} steps that are the same as earlier ones are left out");
    }
    tell(arguments, &path, &trace);
    Ok(ExitCode::SUCCESS)
}

fn run_plan(arguments: &Export) -> Result<ExitCode, Failure> {
    let script = tensorflow::script_of(Path::new(&arguments.input))?;
    let path = &arguments.output;
    if path == Path::new("-") {
        print!("{script}");
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::write(path, script)
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display()), None))?;
    eprintln!("wrote {0}\nhint: python {0}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// The file that is written.
fn target(arguments: &Export) -> PathBuf {
    let output = &arguments.output;
    match arguments.to {
        ExportForm::Tensorboard if output.is_dir() => output.join(EVENT_FILE),
        _ => output.clone(),
    }
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

/// Says on stderr what was written and how it is looked at.
fn tell(arguments: &Export, path: &Path, trace: &Trace) {
    if path == Path::new("-") {
        return;
    }
    eprintln!("wrote {} ({} events)", path.display(), trace.events.len());
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match arguments.to {
        ExportForm::Perfetto => eprintln!("hint: open it in https://ui.perfetto.dev or chrome://tracing"),
        ExportForm::Tensorboard if !name.contains(tensorboard::NAME) => {
            eprintln!("warning: TensorBoard finds only files whose name contains `{}`", tensorboard::NAME);
        }
        ExportForm::Tensorboard => {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            eprintln!("hint: tensorboard --logdir {}", folder.display());
        }
        ExportForm::Csv | ExportForm::Text | ExportForm::Binary | ExportForm::Tensorflow => {}
    }
}
