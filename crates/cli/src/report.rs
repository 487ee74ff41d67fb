//! `plimsoll report`: plans, traces and models side by side, as one page or as text.

use crate::failure::Failure;
use crate::output;
use crate::recording::KINDS;
use crate::size::size;
use crate::step::optimizer;
use crate::wording;
use clap::Args;
use plimsoll::import::evidence;
use plimsoll::import::oomlog::Log;
use plimsoll::model::zoo;
use plimsoll::replay::{RecordingError, read as read_trace};
use plimsoll::report::diagnosis::{self, Diagnosis, html, text};
use plimsoll::report::{Exhibit, page, terminal};
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, Job, JobError, PlanFile, Prepared, specification};
use std::io::{Cursor, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `plimsoll report`
///
/// The page is one file that needs no network. Logs of running out of memory make a page of their own, as `diagnose -o`
/// does.
///
/// Exit codes: 0 shown, 1 a model does not fit --memory, 2 bad usage or input.
#[derive(Args)]
pub struct Report {
    /// What to show, side by side: a trace (what `plimsoll train --trace` writes, a log of TensorFlow's allocator, a
    /// profile of TensorFlow's, a snapshot of PyTorch's), a plan that `plimsoll fit` wrote, or a log of running out of
    /// memory, gzip or not; - for standard input; or a model of the zoo, such as resnet50@64, which is planned
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
    /// The most memory a model may take; more than it needs as written is saved by computing values again
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// The optimizer of a model
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = optimizer)]
    pub optimizer: Optimizer,
}

/// The largest file that is looked at; what unpacks to more is refused by its reader.
const LARGEST_FILE: u64 = 2 << 30;

/// Runs the command.
pub fn run(arguments: &Report) -> Result<ExitCode, Failure> {
    let (inputs, labels) = (arguments.inputs.len(), arguments.label.len());
    if labels > inputs {
        return Err(Failure::usage(format!("there are {labels} names for {inputs} inputs"), None));
    }
    let mut shown = Vec::new();
    for (number, input) in arguments.inputs.iter().enumerate() {
        let name = arguments.label.get(number).cloned().unwrap_or_else(|| short_name(input));
        shown.push(open(input, name, arguments)?);
    }
    let (exhibits, logs): (Vec<Shown>, Vec<Shown>) = shown.into_iter().partition(Shown::is_exhibit);
    if !logs.is_empty() && !exhibits.is_empty() {
        let hint = "give the logs to a report of their own".to_string();
        return Err(Failure::usage(
            "a log of running out of memory is no trace and cannot stand beside one",
            Some(hint),
        ));
    }
    let title = arguments.title.clone();
    let printed = match logs.is_empty() {
        true => show_exhibits(exhibits.into_iter().filter_map(Shown::exhibit).collect(), title, arguments),
        false => show_logs(logs.into_iter().filter_map(Shown::log).collect(), title, arguments),
    };
    deliver(&printed, arguments)
}

/// What an input turned out to be.
enum Shown {
    Exhibit(Box<Exhibit>),
    Log(String, Log),
}

impl Shown {
    fn is_exhibit(&self) -> bool {
        matches!(self, Self::Exhibit(_))
    }

    fn exhibit(self) -> Option<Exhibit> {
        match self {
            Self::Exhibit(exhibit) => Some(*exhibit),
            Self::Log(..) => None,
        }
    }

    fn log(self) -> Option<(String, Log)> {
        match self {
            Self::Exhibit(_) => None,
            Self::Log(name, log) => Some((name, log)),
        }
    }
}

fn show_exhibits(exhibits: Vec<Exhibit>, title: Option<String>, arguments: &Report) -> String {
    let names: Vec<&str> = exhibits.iter().map(|exhibit| exhibit.name.as_str()).collect();
    let title = title.unwrap_or_else(|| format!("Memory of {}", names.join(", ")));
    match arguments.text {
        true => terminal::print(&exhibits, is_coloured(&arguments.color)) + "\n",
        false => page::print(&title, &exhibits),
    }
}

fn show_logs(logs: Vec<(String, Log)>, title: Option<String>, arguments: &Report) -> String {
    let names: Vec<String> = logs.iter().map(|(name, _)| name.clone()).collect();
    let title = title.unwrap_or_else(|| format!("Out of memory: {}", names.join(", ")));
    let diagnoses: Vec<Diagnosis> = logs
        .into_iter()
        .flat_map(|(_, log)| diagnosis::diagnose(log))
        .map(|diagnosis| diagnosis.worded(wording::ask))
        .collect();
    match arguments.text {
        true => diagnoses.iter().map(text::print).collect::<Vec<_>>().join("\n\n") + "\n",
        false => html::print(&title, &diagnoses),
    }
}

fn deliver(printed: &str, arguments: &Report) -> Result<ExitCode, Failure> {
    let path = &arguments.output;
    if arguments.text {
        output::painted(printed)?;
    } else if path == Path::new("-") {
        output::document(printed)?;
    } else {
        output::file(path, printed.as_bytes())?;
        output::text(&format!("wrote {} ({})", path.display(), Bytes(printed.len() as u64)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_coloured(when: &str) -> bool {
    match when {
        "always" => true,
        "never" => false,
        _ => {
            std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
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

fn open(input: &str, name: String, arguments: &Report) -> Result<Shown, Failure> {
    let mut shown = match input {
        "-" => classify(&read_all(std::io::stdin().lock(), "standard input")?, "standard input", &name)?,
        path if Path::new(path).is_file() => {
            let failed = |error| Failure::usage(format!("cannot open {path}: {error}"), None);
            let bytes = read_all(std::fs::File::open(path).map_err(failed)?, path)?;
            classify(&bytes, path, &name)?
        }
        model => Shown::Exhibit(Box::new(planned(model, arguments)?)),
    };
    if let Shown::Exhibit(exhibit) = &mut shown {
        exhibit.name = name;
        exhibit.limit = arguments.limit.or(exhibit.limit);
    }
    Ok(shown)
}

fn read_all(input: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("{name}: it cannot be read: {error}"), None))?;
    match bytes.len() as u64 > LARGEST_FILE {
        true => Err(Failure::usage(format!("{name} is larger than {}", Bytes(LARGEST_FILE)), None)),
        false => Ok(bytes),
    }
}

/// A plan by its first key, a trace by its first line, otherwise whatever reports of running out of memory are in it.
fn classify(bytes: &[u8], path: &str, name: &str) -> Result<Shown, Failure> {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    if bytes[start..].starts_with(b"{\"format\":") {
        return plan(bytes, path);
    }
    let error = match read_trace(Cursor::new(bytes)) {
        Ok(recording) => {
            let shown = Exhibit::of_trace(&recording.trace);
            let mut exhibit = shown.map_err(|error| Failure::usage(format!("{path}: {error}"), None))?;
            exhibit.notes.extend(recording.all_notes());
            return Ok(Shown::Exhibit(Box::new(exhibit)));
        }
        Err(error) => error,
    };
    match evidence::read(Cursor::new(bytes)) {
        Ok(log) if !log.dumps.is_empty() => Ok(Shown::Log(name.to_string(), log)),
        _ => Err(nothing_to_show(path, &error)),
    }
}

fn nothing_to_show(path: &str, error: &RecordingError) -> Failure {
    let message = match error {
        RecordingError::Unknown { first } => {
            format!("{path} is no plan, no trace and has no out-of-memory report; it begins with `{first}`")
        }
        error => format!("{path}: {error}"),
    };
    Failure::usage(message, Some(format!("a plan is what `plimsoll fit` writes; {KINDS}")))
}

fn plan(bytes: &[u8], path: &str) -> Result<Shown, Failure> {
    let file = PlanFile::parse(bytes, path).map_err(JobError::from)?;
    let prepared = file.prepare(specification::find(&file.model)?)?;
    Ok(Shown::Exhibit(Box::new(exhibit(&prepared, Some(file.budget)))))
}

fn planned(model: &str, arguments: &Report) -> Result<Exhibit, Failure> {
    let end = model.find(['@', ',']).unwrap_or(model.len());
    if !zoo::entries().iter().any(|entry| entry.name == &model[..end]) {
        let hint = "`plimsoll zoo` lists the models that can be named instead of a file".to_string();
        return Err(Failure::usage(format!("there is no file and no model `{model}`"), Some(hint)));
    }
    let mut job = Job::new(specification::find(model)?, arguments.batch);
    job.optimizer = arguments.optimizer;
    let prepared = match arguments.memory {
        Some(budget) => job.prepare_within(budget)?,
        None => job.prepare()?,
    };
    Ok(exhibit(&prepared, arguments.memory))
}

fn exhibit(prepared: &Prepared, limit: Option<Bytes>) -> Exhibit {
    Exhibit { headline: prepared.headline(), limit, ..prepared.exhibit() }
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
