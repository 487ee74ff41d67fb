//! What to train.

use crate::data::DataError;
use crate::fit::fit;
use crate::hint::{Hint, Setting};
use crate::planning::Aim;
use crate::{Bytes, OnShortage, OverBudget, PlanFileError, Prepared, Watch};
use plimsoll_exec::eager::Shortage;
use plimsoll_exec::{Backend, BindError, CpuBackend, StepError};
use plimsoll_memory::OutOfMemory;
use plimsoll_model::{Model, ModelError};
use plimsoll_plan::recompute::Difference;
use plimsoll_plan::{Options, PlanError, Profile, Residents, Target};
use plimsoll_train::{Allowed, Descent, Loss, Objective, Optimizer, Settings, TrainError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What to train.
#[derive(Clone, Debug)]
pub struct Job {
    /// The model.
    pub model: Model,
    /// How many samples a step takes.
    pub batch: usize,
    /// What is minimized: a loss for each output that is trained.
    pub objective: Objective,
    /// How.
    pub optimizer: Optimizer,
    /// What surrounds the optimizer: clipping, averages, schedules and so on.
    pub settings: Settings,
    /// Into how many micro-batches a batch is cut, whose gradients are added up and applied at once; 1 leaves it whole.
    pub micro_batches: usize,
    /// What happens to a step whose loss or gradients are not finite.
    pub on_nan: OnNan,
    /// Which levers of a plan are pulled.
    pub options: Options,
    /// How fast the machine is; decides between plans that fit.
    pub profile: Profile,
    /// Whose kernels run it, on which kind of device.
    pub backend: Arc<dyn Backend>,
    /// Who is told how a search for a plan goes on.
    pub watch: Watch,
}

/// What happens to a step whose loss or gradients are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNan {
    /// The run ends with the first value that is not finite.
    #[default]
    Stop,
    /// The step changes nothing, is counted, and the run goes on. Updates then wait for all gradients, which takes
    /// memory.
    Skip,
}

/// Why a job cannot be prepared or stopped.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum JobError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error("the plan does not hold: {0}")]
    Plan(#[from] PlanError),
    #[error("computing values again would change something: {0}")]
    Recomputation(#[from] Difference),
    #[error(transparent)]
    PlanFile(#[from] PlanFileError),
    #[error(transparent)]
    OverBudget(Box<OverBudget>),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("a run of 0 steps trains nothing")]
    NoSteps,
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    #[error(transparent)]
    Bind(Box<BindError>),
    #[error("eager mode runs on the CPU only, not on the backend `{backend}`")]
    NotEager { backend: String },
    #[error("step {step}: {error}")]
    Step { step: u64, error: StepError },
    #[error("step {step}: the loss is no longer a number; {}", first_non_finite(.first))]
    NotFinite { step: u64, first: StepError },
    #[error("{model} takes no sequences of tokens, so its samples have no length")]
    NoLength { model: String },
    #[error("the weights have no average before the first update")]
    NoAverage,
    #[error("the run took {measured}, but {planned} were planned")]
    BrokenPromise { planned: Bytes, measured: Bytes },
}

fn first_non_finite(first: &StepError) -> String {
    match first {
        StepError::NotFinite { value, op, .. } if op.is_empty() => {
            format!("`{value}` was not finite when the step began")
        }
        StepError::NotFinite { value, op, .. } => {
            format!("the first value that is not finite is `{value}`, from {op}")
        }
        other => other.to_string(),
    }
}

impl Job {
    /// A job with Keras's usual choices: Adam, sparse categorical cross-entropy for every output, every thread of the
    /// machine.
    pub fn new(model: Model, batch: usize) -> Self {
        let loss = Loss::SparseCategoricalCrossEntropy { from_logits: false };
        Self {
            objective: Objective::everywhere(model.output_names(), loss),
            model,
            batch,
            optimizer: Optimizer::parse("adam").expect("adam is an optimizer"),
            settings: Settings::default(),
            micro_batches: 1,
            on_nan: OnNan::Stop,
            options: Options::default(),
            profile: Profile::default(),
            backend: Arc::new(CpuBackend::default()),
            watch: Watch::default(),
        }
    }

    /// The same on the CPU, with so many threads. Results do not depend on their number, scratch does.
    pub fn on_threads(self, threads: usize) -> Self {
        Self { backend: Arc::new(CpuBackend::new(threads)), ..self }
    }

    /// The optimizer with what surrounds it.
    pub fn descent(&self) -> Descent {
        Descent { optimizer: self.optimizer, settings: self.settings.clone() }
    }

    /// What its plans are for.
    pub fn target(&self) -> Target {
        self.backend.target(self.profile.clone())
    }

    /// Plans and proves a step, and an evaluation that fits beside it.
    pub fn prepare(&self) -> Result<Prepared, JobError> {
        Prepared::new(self, Aim::WHATEVER, &Residents::default())
    }

    /// Prepares the job for a budget, computing values again and cutting the batch into micro-batches as far as it
    /// takes and leaves the numbers the same; or says what is in the way and what would help.
    pub fn prepare_within(&self, budget: Bytes) -> Result<Prepared, JobError> {
        Ok(fit(self, budget, Allowed::EXACT)?.prepared)
    }
}

impl From<BindError> for JobError {
    fn from(error: BindError) -> Self {
        match error {
            BindError::OutOfMemory(refused) => Self::OutOfMemory(refused),
            other => Self::Bind(Box::new(other)),
        }
    }
}

impl JobError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::OverBudget(over) => Some(over.hint()),
            Self::PlanFile(error) => Some(error.hint()),
            Self::OutOfMemory(refused) => Some(Hint::Say(refused.hint())),
            Self::Bind(error) if matches!(**error, BindError::Threads { .. }) => {
                let text = "fewer threads do; `ulimit -u` and `ulimit -v` show what the system allows";
                Some(Hint::set(text, [Setting::Threads(1)]))
            }
            Self::Step { error: StepError::OutOfMemory(shortage), .. } => Some(eager_hint(shortage)),
            Self::Plan(PlanError::TooLarge { .. }) => {
                Some(Hint::set("a tensor must fit what a device takes at once", [Setting::Batch(None)]))
            }
            Self::NotFinite { .. } => Some(Hint::set(
                "a lower learning rate helps most often; check the data for absurd values",
                [Setting::LearningRate(None)],
            )),
            Self::Train(TrainError::NoParameters) => Some(Hint::say(
                "a layer learns if it is `trainable`: set it in Keras and save the model again",
            )),
            Self::Data(error) => error.hint().map(Hint::Say),
            Self::Model(ModelError::EmptyBatch) => {
                Some(Hint::set("a batch has at least one sample", [Setting::Batch(Some(1))]))
            }
            _ => None,
        }
    }

    /// Whether a problem was found in doing what was asked for; otherwise what was asked for makes no sense.
    pub fn is_problem(&self) -> bool {
        match self {
            Self::Model(_)
            | Self::Train(_)
            | Self::Data(_)
            | Self::NoSteps
            | Self::NoAverage
            | Self::NoLength { .. }
            | Self::PlanFile(_) => false,
            Self::OverBudget(_)
            | Self::OutOfMemory(_)
            | Self::Bind(_)
            | Self::NotEager { .. }
            | Self::Plan(_)
            | Self::Recomputation(_)
            | Self::Step { .. }
            | Self::NotFinite { .. }
            | Self::BrokenPromise { .. } => true,
        }
    }
}

/// What would help an eager run that ran out of memory.
fn eager_hint(shortage: &Shortage) -> Hint {
    let settings = match shortage.is_fragmentation() {
        true => vec![
            Setting::Growth(false),
            Setting::OnShortage(OnShortage::Compact),
            Setting::OnShortage(OnShortage::Shrink),
            Setting::Planned,
        ],
        false => vec![Setting::OnShortage(OnShortage::Shrink), Setting::Batch(None), Setting::Planned],
    };
    Hint::set(shortage.hint(), settings)
}
