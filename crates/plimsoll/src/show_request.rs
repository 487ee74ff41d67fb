//! Something to look at, whatever it is: a trace, a plan, a recipe for TensorFlow, a log, a model by its name or file.

use crate::{
    Bytes, JobError, JobRequest, LARGEST_PLAN, Note, OpenedJob, PlanFile, RequestError, specification,
};
use plimsoll_import::evidence;
use plimsoll_import::oomlog::Log;
use plimsoll_import::recording::{self, RecordingError};
use plimsoll_model::{Mode, zoo};
use plimsoll_report::Exhibit;
use plimsoll_report::exhibit::ExhibitError;
use plimsoll_state::input_file;
use plimsoll_tensorflow::{RecipeError, RecipeFile, predict};
use plimsoll_train::Optimizer;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

/// The most that is read from a pipe, which cannot be read twice.
pub const LARGEST_PIPED: Bytes = Bytes::mib(512);

/// Something to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct ShowRequest {
    /// A path, `-` for standard input, or a model.
    pub input: String,
    /// Samples in a step of a model.
    pub batch: usize,
    /// The most memory a model may take.
    pub memory: Option<Bytes>,
    /// The optimizer of a model; without it, what its file was compiled with, or Adam.
    pub optimizer: Option<Optimizer>,
}

/// What it turned out to be.
pub enum Shown {
    /// Memory over time.
    Exhibit(Box<Exhibit>),
    /// Reports of running out of memory.
    Log(Log),
}

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum ShowError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("cannot open {name}: {error}")]
    Closed { name: String, error: io::Error },
    #[error("{name}: {error}")]
    Trace { name: String, error: RecordingError },
    #[error("{name}: {error}")]
    Exhibit { name: String, error: ExhibitError },
    #[error("{name}: {error}")]
    Recipe { name: String, error: RecipeError },
    #[error(
        "{name} is no plan, no trace, no model and has no out-of-memory report; it begins with `{first}`"
    )]
    Nothing { name: String, first: String },
    #[error("there is no file and no model `{input}`")]
    NoSuch { input: String },
}

impl ShowRequest {
    /// Opens it; plans and models are planned and proved.
    pub fn open(&self) -> Result<(Shown, Vec<Note>), ShowError> {
        let path = Path::new(&self.input);
        if self.input != "-" && !path.exists() {
            return self.planned();
        }
        let closed = |error| ShowError::Closed { name: self.name(), error };
        let mut source = Source::open(path).map_err(closed)?;
        match source.kind(path).map_err(closed)? {
            Kind::Model => self.planned(),
            Kind::Recipe => {
                Ok((Shown::Exhibit(Box::new(self.recipe(&source.all().map_err(closed)?)?)), Vec::new()))
            }
            Kind::Plan => {
                Ok((Shown::Exhibit(Box::new(self.plan(&source.all().map_err(closed)?)?)), Vec::new()))
            }
            Kind::Other => Ok((self.trace_or_log(&mut source)?, Vec::new())),
        }
    }

    fn name(&self) -> String {
        if self.input == "-" { "standard input".to_string() } else { self.input.clone() }
    }

    fn planned(&self) -> Result<(Shown, Vec<Note>), ShowError> {
        let end = self.input.find(['@', ',']).unwrap_or(self.input.len());
        let known = zoo::entries().iter().any(|entry| entry.name == &self.input[..end]);
        if !known && !specification::is_file(&self.input) {
            return Err(ShowError::NoSuch { input: self.input.clone() });
        }
        let request =
            JobRequest { batch: self.batch, optimizer: self.optimizer, ..JobRequest::of(&self.input) };
        let OpenedJob { job, notes, .. } = request.open()?;
        let prepared = match self.memory {
            Some(budget) => job.prepare_within(budget),
            None => job.prepare(),
        };
        let exhibit = prepared.map_err(RequestError::from)?.shown(self.memory);
        Ok((Shown::Exhibit(Box::new(exhibit)), notes))
    }

    fn plan(&self, bytes: &[u8]) -> Result<Exhibit, ShowError> {
        let plan = PlanFile::parse(bytes, &self.name()).map(|plan| plan.beside(Path::new(&self.input)));
        let plan = plan.map_err(|error| RequestError::from(JobError::from(error)))?;
        let model = specification::find(&plan.model).map_err(RequestError::from)?;
        let prepared = plan.prepare(model).map_err(RequestError::from)?;
        Ok(prepared.shown(Some(plan.budget)))
    }

    /// The step that TensorFlow is predicted to make, with the limit that the recipe needs.
    fn recipe(&self, bytes: &[u8]) -> Result<Exhibit, ShowError> {
        let failed = |error| ShowError::Recipe { name: self.name(), error };
        let file = RecipeFile::parse(bytes).map_err(failed)?;
        let model = specification::beside(&file.model, Path::new(&self.input));
        let model = specification::find(&model).map_err(RequestError::from)?;
        let graph = model.lower(file.recipe.rows(), Mode::Training);
        let graph = graph.map_err(|error| RequestError::from(JobError::from(error)))?;
        let prediction = predict(&graph, &file.recipe.setup);
        let trace = [file.needs.limit, Bytes(prediction.live_peak().0.saturating_mul(4))]
            .into_iter()
            .find_map(|limit| prediction.placed(limit))
            .unwrap_or_else(|| prediction.trace.clone());
        let shown = Exhibit::of_trace(&trace);
        let exhibit = shown.map_err(|error| ShowError::Exhibit { name: self.name(), error })?;
        let headline = format!("{} · batch {} · in TensorFlow, as predicted", model.name, file.recipe.batch);
        Ok(Exhibit { headline, limit: Some(file.needs.limit), ..exhibit })
    }

    fn trace_or_log(&self, source: &mut Source) -> Result<Shown, ShowError> {
        let name = self.name();
        let closed = |error| ShowError::Closed { name: name.clone(), error };
        let error = match recording::read(source.again().map_err(closed)?) {
            Ok(recording) => {
                let shown = Exhibit::of_trace(&recording.trace);
                let mut exhibit = shown.map_err(|error| ShowError::Exhibit { name, error })?;
                exhibit.notes.extend(recording.all_notes());
                return Ok(Shown::Exhibit(Box::new(exhibit)));
            }
            Err(error) => error,
        };
        match (evidence::read(source.again().map_err(closed)?), error) {
            (Ok(log), _) if !log.dumps.is_empty() => Ok(Shown::Log(log)),
            (_, RecordingError::Unknown { first }) => Err(ShowError::Nothing { name, first }),
            (_, error) => Err(ShowError::Trace { name, error }),
        }
    }
}

/// What bytes look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Plan,
    Recipe,
    Other,
}

/// Bytes that can be read again.
enum Source {
    File(File),
    Bytes(Vec<u8>),
}

impl Source {
    fn open(path: &Path) -> io::Result<Self> {
        let file = input_file::open(path)?;
        match file.metadata()?.is_file() {
            true => Ok(Self::File(file)),
            false => input_file::read_all(file, LARGEST_PIPED).map(Self::Bytes),
        }
    }

    /// From the beginning.
    fn again(&mut self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(Cursor::new(bytes)),
            Self::File(file) => {
                file.rewind()?;
                Box::new(file)
            }
        })
    }

    /// Everything, where it is no more than a plan may have.
    fn all(&mut self) -> io::Result<Vec<u8>> {
        input_file::read_all(self.again()?, LARGEST_PLAN)
    }

    fn kind(&mut self, path: &Path) -> io::Result<Kind> {
        let mut head = Vec::new();
        self.again()?.take(64).read_to_end(&mut head)?;
        let start = head.trim_ascii_start();
        if start.starts_with(b"PK\x03\x04") || start.starts_with(b"\x89HDF") {
            return Ok(Kind::Model);
        }
        // What Python's json.dump makes of a text begins with a quote.
        if !start.starts_with(b"{") && !start.starts_with(b"\"") {
            return Ok(Kind::Other);
        }
        let is_json = path.extension().is_some_and(|end| end == "json");
        let all = match self.all() {
            Ok(all) => all,
            // A log may begin with a brace, too.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge && !is_json => return Ok(Kind::Other),
            Err(error) => return Err(error),
        };
        let says = |word: &[u8]| all.windows(word.len()).any(|window| window == word);
        Ok(match () {
            () if RecipeFile::is_one(&all) => Kind::Recipe,
            () if all.trim_ascii_start().starts_with(b"{\"format\":") => Kind::Plan,
            () if is_json && says(b"class_name") => Kind::Model,
            () => Kind::Other,
        })
    }
}
