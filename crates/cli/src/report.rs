//! `plimsoll report`: plans, traces and models side by side, as one page or as text.

use crate::failure::Failure;
use crate::recording::KINDS;
use crate::size::size;
use crate::step::optimizer;
use crate::{notes, output, terminal, wording};
use clap::Args;
use plimsoll::import::oomlog::Log;
use plimsoll::report::diagnosis::{self, Diagnosis, html, text};
use plimsoll::report::terminal::print as text_of;
use plimsoll::report::{Exhibit, json as figures, page};
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, ShowError, ShowRequest, Shown};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `plimsoll report`
#[derive(Args)]
pub struct Report {
    /// What to show, side by side: a trace (what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a
    /// profile of TensorFlow's, a snapshot of PyTorch's), a plan or recipe that `plimsoll fit` wrote, or a log of
    /// running out of memory, gzip or not; - for standard input; or a model, which is planned: of the zoo, such as
    /// resnet50@64, or a file of Keras
    #[arg(value_name = "TRACE|PLAN|LOG|MODEL", required = true)]
    pub inputs: Vec<String>,
    /// Where the page is written; - for standard output
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html", conflicts_with = "text")]
    pub output: PathBuf,
    /// Print text instead of writing a page
    #[arg(long)]
    pub text: bool,
    /// Print one JSON object with the figures instead of writing a page
    #[arg(long, conflicts_with_all = ["text", "output"])]
    pub json: bool,
    /// When text has colours: auto means on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true, value_parser = ["auto", "always", "never"], requires = "text")]
    pub color: String,
    /// What the inputs are called, in their order [default: their file names]
    #[arg(long, value_name = "NAME")]
    pub label: Vec<String>,
    /// The title of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// A line to draw into every chart: what may be taken [default: what the input says]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub limit: Option<Bytes>,
    /// Samples in a step of a model
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: usize,
    /// The most memory a model may take: where it needs more as written, values are dropped and computed again
    /// (activation checkpointing, rematerialization)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// The optimizer of a model [default: what the model's file was compiled with, or adam]
    #[arg(long, value_name = "NAME", value_parser = optimizer)]
    pub optimizer: Option<Optimizer>,
}

/// Runs the command.
pub fn run(arguments: &Report) -> Result<ExitCode, Failure> {
    let (inputs, labels) = (arguments.inputs.len(), arguments.label.len());
    if labels > inputs {
        return Err(Failure::usage(format!("there are {labels} names for {inputs} inputs"), None));
    }
    let mut shown = Vec::new();
    for (number, input) in arguments.inputs.iter().enumerate() {
        let name = arguments.label.get(number).cloned().unwrap_or_else(|| short_name(input));
        let (mut what, notes) = arguments.request(input).open().map_err(failure)?;
        notes::tell(&notes);
        if let Shown::Exhibit(exhibit) = &mut what {
            (exhibit.name, exhibit.limit) = (name.clone(), arguments.limit.or(exhibit.limit));
        }
        shown.push((name, what));
    }
    let (exhibits, logs) = sorted(shown);
    if !logs.is_empty() && !exhibits.is_empty() {
        let hint = "give the logs to a report of their own".to_string();
        return Err(Failure::usage(
            "a log of running out of memory is no trace and cannot stand beside one",
            Some(hint),
        ));
    }
    match logs.is_empty() {
        true => show_exhibits(&exhibits, arguments)?,
        false => show_logs(logs, arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Report {
    fn request(&self, input: &str) -> ShowRequest {
        let (batch, memory, optimizer) = (self.batch, self.memory, self.optimizer);
        ShowRequest { input: input.to_string(), batch, memory, optimizer }
    }
}

fn failure(error: ShowError) -> Failure {
    let message = error.to_string();
    let hint = match error {
        ShowError::Request(error) => return error.into(),
        ShowError::Closed { error, .. } => return Failure::closed(message, &error),
        ShowError::Exhibit { .. } => None,
        ShowError::Trace { .. } | ShowError::Nothing { .. } => {
            Some(format!("a plan is what `plimsoll fit` writes; {KINDS}"))
        }
        ShowError::Recipe { .. } => Some("make it again with `plimsoll fit --as tensorflow`".to_string()),
        ShowError::NoSuch { .. } => {
            Some("`plimsoll zoo` lists the models that can be named instead of a file".to_string())
        }
    };
    Failure::usage(message, hint)
}

/// Exhibits and logs, each in their order.
fn sorted(shown: Vec<(String, Shown)>) -> (Vec<Exhibit>, Vec<(String, Log)>) {
    let (mut exhibits, mut logs) = (Vec::new(), Vec::new());
    for (name, what) in shown {
        match what {
            Shown::Exhibit(exhibit) => exhibits.push(*exhibit),
            Shown::Log(log) => logs.push((name, log)),
        }
    }
    (exhibits, logs)
}

fn show_exhibits(exhibits: &[Exhibit], arguments: &Report) -> Result<(), Failure> {
    let names: Vec<&str> = exhibits.iter().map(|exhibit| exhibit.name.as_str()).collect();
    let title = arguments.title.clone().unwrap_or_else(|| format!("Memory of {}", names.join(", ")));
    match (arguments.json, arguments.text) {
        (true, _) => {
            output::json(&json!({"exhibits": exhibits.iter().map(figures::print).collect::<Vec<_>>()}))
        }
        (false, true) => {
            let text = text_of(exhibits, is_coloured(&arguments.color), terminal::columns());
            output::painted(&(text + "\n"))
        }
        (false, false) => deliver(&page::print(&title, exhibits), &arguments.output),
    }
}

fn show_logs(logs: Vec<(String, Log)>, arguments: &Report) -> Result<(), Failure> {
    let names: Vec<String> = logs.iter().map(|(name, _)| name.clone()).collect();
    let title = arguments.title.clone().unwrap_or_else(|| format!("Out of memory: {}", names.join(", ")));
    let diagnoses: Vec<Diagnosis> = logs
        .into_iter()
        .flat_map(|(_, log)| diagnosis::diagnose(log))
        .map(|diagnosis| diagnosis.worded(wording::ask))
        .collect();
    match (arguments.json, arguments.text) {
        (true, _) => {
            output::json(&json!({"dumps": diagnoses.iter().map(diagnosis::json::print).collect::<Vec<_>>()}))
        }
        (false, true) => {
            let columns = terminal::columns();
            let texts = diagnoses.iter().map(|one| text::print_within(one, columns));
            output::text(&texts.collect::<Vec<_>>().join("\n\n"))
        }
        (false, false) => deliver(&html::print(&title, &diagnoses), &arguments.output),
    }
}

fn deliver(page: &str, path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return output::document(page);
    }
    output::file(path, page.as_bytes())?;
    output::text(&format!("wrote {} ({})", path.display(), Bytes(page.len() as u64)))
}

fn is_coloured(when: &str) -> bool {
    match when {
        "always" => true,
        "never" => false,
        _ => terminal::takes_colours(),
    }
}

/// `resnet50` for `runs/resnet50.plan.json` and `resnet50.txt.gz`; a model as it was written.
fn short_name(input: &str) -> String {
    if input == "-" {
        return "standard input".to_string();
    }
    if !Path::new(input).exists() {
        return input.to_string();
    }
    let name =
        PathBuf::from(input).file_name().map_or(input.into(), |name| name.to_string_lossy().into_owned());
    let endings = [".gz", ".json", ".plan", ".txt", ".trace", ".log", ".pb", ".xplane", ".pickle"];
    endings.iter().fold(name, |name, ending| match name.strip_suffix(ending) {
        Some(rest) if !rest.is_empty() => rest.to_string(),
        _ => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_keep_their_names() {
        assert_eq!(short_name("resnet50@64"), "resnet50@64");
        assert_eq!(short_name("-"), "standard input");
        assert_eq!(short_name("Cargo.toml"), "Cargo.toml");
    }
}
