//! `plimsoll diagnose`: why memory ran out, from the log.

use crate::arguments::Diagnose;
use crate::failure::Failure;
use plimsoll::import::evidence::{self, EvidenceError};
use plimsoll::import::oomlog::Log;
use plimsoll::report::diagnosis::{self, Diagnosis, html, json, text};
use serde_json::{Value, json};
use std::fs::File;
use std::process::ExitCode;

/// How many reports are printed in full.
const PRINTED: usize = 5;

/// Runs the command.
pub fn run(arguments: &Diagnose) -> Result<ExitCode, Failure> {
    let log = read(&arguments.file)?;
    if let Some(broken) = &log.broken {
        eprintln!("note: the input ends early: {broken}");
    }
    if log.dumps.is_empty() {
        let hint = "a report is TensorFlow's allocator dump, an out-of-memory message of PyTorch, XLA or plimsoll, or a snapshot of PyTorch's; \
                    TensorFlow prints its dump to standard error unless TF_CPP_MIN_LOG_LEVEL is 1 or more";
        let name = if arguments.file == "-" { "standard input" } else { &arguments.file };
        return Err(Failure::usage(format!("{name}: no out-of-memory report found"), Some(hint.to_string())));
    }
    let (skipped, did_without) = (log.skipped, log.did_without);
    let diagnoses = diagnosis::diagnose(log);
    if let Some(path) = &arguments.output {
        let page = html::print(&format!("Out of memory: {}", arguments.file), &diagnoses);
        std::fs::write(path, page)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display()), None))?;
        eprintln!("wrote {}", path.display());
    }
    match arguments.json {
        true => println!("{:#}", as_json(&diagnoses, skipped, did_without)),
        false => println!("{}", as_text(&diagnoses, skipped)),
    }
    Ok(ExitCode::from(1))
}

fn read(path: &str) -> Result<Log, Failure> {
    let name = if path == "-" { "standard input" } else { path };
    let failed = |error: EvidenceError| Failure::usage(format!("{name}: {error}"), None);
    match path {
        "-" => evidence::read(std::io::stdin().lock()).map_err(failed),
        _ => evidence::read(File::open(path).map_err(|error| failed(error.into()))?).map_err(failed),
    }
}

fn as_text(diagnoses: &[Diagnosis], skipped: u64) -> String {
    let count = diagnoses.len();
    let print = |(number, diagnosis): (usize, &Diagnosis)| {
        let head =
            format!("report {} of {}, line {}", number + 1, count as u64 + skipped, diagnosis.dump.line);
        let head = if count > 1 { format!("── {head}\n") } else { String::new() };
        head + &text::print(diagnosis)
    };
    let mut printed: Vec<String> = diagnoses.iter().enumerate().take(PRINTED).map(print).collect();
    if count > PRINTED {
        let rest = count as u64 - PRINTED as u64 + skipped;
        printed.push(format!("and {rest} more reports (--json lists them)"));
    }
    printed.join("\n\n")
}

fn as_json(diagnoses: &[Diagnosis], skipped: u64, did_without: u64) -> Value {
    let dumps: Vec<Value> = diagnoses.iter().map(json::print).collect();
    json!({"dumps": dumps, "skipped": skipped, "did_without": did_without})
}
