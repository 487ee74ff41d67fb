//! Why something that was asked for cannot be done: each reason a value, with what would help.

use crate::hint::{Call, Hint, Setting};
use crate::specification::SpecificationError;
use crate::{Bytes, JobError, imported};
use plimsoll_import::keras::KerasError;
use plimsoll_memory::DeviceError;
use plimsoll_plan::place::csv::CsvError;
use plimsoll_plan::place::pages::PagesError;
use plimsoll_state::{StateError, input_file};
use plimsoll_tensorflow::{RecipeError, ScriptError};
use plimsoll_trace::Evidence;
use plimsoll_train::Optimizer;
use std::path::{Path, PathBuf};

/// Why something that was asked for cannot be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum RequestError {
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Specification(#[from] SpecificationError),
    #[error(transparent)]
    Weights(Box<KerasError>),
    #[error(transparent)]
    State(Box<StateError>),
    #[error("the state has made {made} steps, and the run is to have {steps} in all")]
    NoStepsLeft { made: u64, steps: u64 },
    #[error(transparent)]
    Device(Box<DeviceError>),
    #[error("{batch} samples cannot be cut into {micro_batches} micro-batches")]
    MicroBatches { batch: usize, micro_batches: usize },
    #[error("{threads} threads cannot be had: there may be 1 to {}", crate::MOST_THREADS)]
    Threads { threads: usize },
    #[error(
        "the plan takes {peak}, but other runs have promised to take {promised} more, which leaves {left}"
    )]
    Promised { peak: Bytes, promised: Bytes, left: Bytes },
    #[error("{0}")]
    CompiledLoss(String),
    #[error("{0}")]
    CompiledOptimizer(String),
    #[error("what is said about reading files has no effect on the data set `{data}`")]
    IdleInput { data: String },
    #[error("reading the data takes {input}, and there are {limit} for everything")]
    InputMemory { input: Bytes, limit: Bytes },
    #[error("only synthetic samples can have any length")]
    Lengths,
    #[error("{allocator} does not know growth; only {} does", crate::train_request::USUAL_ALLOCATOR)]
    Growth { allocator: String },
    #[error("{allocator} does not know settings of PyTorch's allocator; only torch does")]
    TorchSettings { allocator: String },
    #[error(
        "segments that expand map memory into reserved addresses, which regions of the host cannot; torch is the same without them, and a \
         replay says what they would take"
    )]
    Expandable,
    #[error("there is no allocator `{name}`")]
    Allocator { name: String },
    #[error("the plan takes {peak}, the device has {limit}")]
    PlanTooLarge { model: String, batch: usize, peak: Bytes, limit: Bytes },
    #[error("the outputs have losses of their own, and TensorFlow's memory is known for one loss for all")]
    SeveralLosses,
    #[error("TensorFlow's memory is not known for the loss {loss}")]
    UnmeasuredLoss { loss: String },
    #[error("what TensorFlow takes for the optimizer's {setting} is not known")]
    TensorFlowSetting { setting: &'static str },
    #[error("a model of the zoo has no Keras configuration to save")]
    NothingToSave,
    #[error("there is nothing to do in 0 {unit}")]
    NothingToDo { unit: &'static str },
    #[error("{rate} is no learning rate")]
    LearningRate { rate: f32 },
    #[error("{slowdown} is no share of a time")]
    Slowdown { slowdown: f64 },
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{}: {error}", .path.display())]
    UnreadablePlan { path: PathBuf, error: std::io::Error },
    #[error("{}, {error}", .path.display())]
    NoProblem { path: PathBuf, error: CsvError },
    #[error("buffer `{buffer}` needs {bytes}, more than a page of {size} can hold")]
    SmallPages { buffer: String, bytes: Bytes, size: Bytes, largest: Bytes },
    #[error(transparent)]
    Pages(PagesError),
    #[error("{}: {error}", .path.display())]
    Recipe { path: PathBuf, error: RecipeError },
    #[error("TensorFlow has no way to run a batch of {batch} of {model} in {budget} with the same numbers")]
    NoRecipe { model: String, batch: usize, budget: Bytes },
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("there is no directory to keep the profile in")]
    NoCache,
    #[error("cannot write to {}: {error}", .folder.display())]
    UnwritableCache { folder: PathBuf, error: std::io::Error },
    #[error("cannot write {}: {error}", .path.display())]
    Unwritable { path: PathBuf, error: std::io::Error },
    #[error("cannot write {}: {problem}; what was trained is in {}", .path.display(), .elsewhere.display())]
    SavedElsewhere { path: PathBuf, problem: String, elsewhere: PathBuf },
}

impl From<KerasError> for RequestError {
    fn from(error: KerasError) -> Self {
        Self::Weights(Box::new(error))
    }
}

impl From<StateError> for RequestError {
    fn from(error: StateError) -> Self {
        Self::State(Box::new(error))
    }
}

impl From<DeviceError> for RequestError {
    fn from(error: DeviceError) -> Self {
        Self::Device(Box::new(error))
    }
}

impl From<crate::data::DataError> for RequestError {
    fn from(error: crate::data::DataError) -> Self {
        Self::Job(error.into())
    }
}

impl RequestError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Job(error) => error.hint(),
            Self::Specification(SpecificationError::Zoo(_)) => Some(Hint::Call(Call::Zoo)),
            Self::Specification(SpecificationError::File { error, .. }) => error.hint().map(Hint::Say),
            Self::Specification(SpecificationError::Folder { .. }) => Some(Hint::say(
                "save the model with Keras: `model.save(\"model.keras\")`, or `model.to_json()` without weights",
            )),
            Self::Weights(error) => error.hint().map(Hint::Say),
            Self::State(error) => error.hint().map(Hint::Say),
            Self::NoStepsLeft { made, steps } => {
                Some(Hint::Say(format!("{} steps in all are {steps} more", made + steps)))
            }
            Self::Device(error) => error.hint().map(Hint::Say),
            Self::MicroBatches { .. } => Some(Hint::say("a micro-batch has at least one sample")),
            Self::Threads { .. } => {
                let machine = std::thread::available_parallelism().map_or(1, usize::from);
                let text = format!("this machine runs {machine} at a time; more make nothing faster");
                Some(Hint::set(text, [Setting::Threads(machine)]))
            }
            Self::Promised { left, .. } => Some(Hint::set(
                "wait until one of them has ended, or plan for less",
                [Setting::Memory(*left)],
            )),
            Self::CompiledLoss(_) => Some(Hint::set(
                format!("another loss takes the place of what was saved: {}", imported::LOSSES),
                [Setting::Loss],
            )),
            Self::CompiledOptimizer(_) => {
                let names = Optimizer::DEFAULTS.map(|optimizer| optimizer.name()).join(", ");
                let text = format!("another optimizer takes the place of what was saved: {names}");
                Some(Hint::set(text, [Setting::Optimizer(None)]))
            }
            Self::Lengths => {
                Some(Hint::set("take synthetic samples", [Setting::Data("synthetic".to_string())]))
            }
            Self::IdleInput { .. } => Some(Hint::say("name a folder or a file")),
            Self::InputMemory { .. } => {
                Some(Hint::say("give the run more memory, or make the batch smaller"))
            }
            Self::Allocator { .. } => {
                Some(Hint::Say(format!("the allocators are {}", plimsoll_memory::ALLOCATOR_NAMES.join(", "))))
            }
            Self::PlanTooLarge { model, batch, limit, .. } => {
                Some(Hint::Call(Call::Fit { model: model.clone(), batch: *batch, memory: *limit }))
            }
            Self::TensorFlowSetting { .. } => {
                Some(Hint::set("another optimizer has its usual settings", [Setting::Optimizer(None)]))
            }
            Self::SeveralLosses => Some(Hint::set("give all outputs the same", [Setting::Loss])),
            Self::UnmeasuredLoss { .. } => {
                Some(Hint::set("take one that has been measured", [Setting::Loss]))
            }
            Self::NothingToSave => Some(Hint::say(
                "save its state, such as out.safetensors; or save it in Keras with model.save(\"model.keras\") and train that",
            )),
            Self::LearningRate { .. } => {
                Some(Hint::set("try the usual one", [Setting::LearningRate(Some(0.001))]))
            }
            Self::Slowdown { .. } => Some(Hint::say("0.35 is 35 % more time a sample")),
            Self::Unreadable { error, .. } => input_file::hint(error).map(Hint::say),
            Self::UnreadablePlan { .. } => Some(Hint::Call(Call::WritePlan)),
            Self::NoProblem { .. } => Some(Hint::say(
                "the file is CSV with the columns id,lower,upper,size; a buffer lives from lower to just before upper",
            )),
            Self::SmallPages { largest, .. } => Some(Hint::Say(format!(
                "the largest buffer has {largest} ({} bytes), and no buffer lies across pages",
                largest.0
            ))),
            Self::Recipe { .. } => Some(Hint::Call(Call::RecipeAgain)),
            Self::NoRecipe { model, batch, budget } => {
                let (model, batch, memory) = (model.clone(), *batch, *budget);
                Some(Hint::Call(Call::FitTensorflow { model, batch, memory }))
            }
            Self::Script(error) => Some(Hint::say(error.hint())),
            Self::NoCache => {
                Some(Hint::say("set HOME, or XDG_CACHE_HOME to a directory that can be written"))
            }
            Self::UnwritableCache { .. } => Some(Hint::say("XDG_CACHE_HOME names another place for it")),
            Self::Unwritable { path, .. } => Some(unwritable(path)),
            Self::SavedElsewhere { elsewhere, .. } => {
                Some(Hint::Say(format!("move {} to where it belongs", elsewhere.display())))
            }
            Self::TorchSettings { .. } | Self::Expandable | Self::Pages(_) => None,
            Self::Growth { .. } | Self::NothingToDo { .. } => None,
        }
    }

    /// Who asked for how much memory and who holds what, where memory is what was missing.
    pub fn evidence(&self) -> Option<Evidence> {
        match self {
            Self::Job(error) => error.evidence(),
            Self::Device(error) => match &**error {
                DeviceError::OutOfMemory(refused) => Some(refused.evidence()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a problem was found in doing what was asked for; otherwise what was asked for makes no sense.
    pub fn is_problem(&self) -> bool {
        match self {
            Self::Job(error) => error.is_problem(),
            Self::PlanTooLarge { .. }
            | Self::InputMemory { .. }
            | Self::Promised { .. }
            | Self::SavedElsewhere { .. } => true,
            Self::SmallPages { .. } | Self::NoRecipe { .. } => true,
            _ => false,
        }
    }
}

/// What is in the way of a file.
fn unwritable(path: &Path) -> Hint {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() {
        false => Hint::Say(format!("make the folder {} first", folder.display())),
        true => Hint::Say(format!("write it where files can be made; {} is no such place", folder.display())),
    }
}
