//! What to train, and its plan.

use crate::data::DataError;
use crate::{Bytes, OverBudget};
use plimsoll_exec::StepError;
use plimsoll_exec::kernels::CpuKernels;
use plimsoll_graph::ValueId;
use plimsoll_memory::OutOfMemory;
use plimsoll_model::{Mode, Model, ModelError};
use plimsoll_plan::{Options, Plan, PlanError, Residents, Usage, VerifiedPlan, plan, usage, verify};
use plimsoll_train::{Loss, Optimizer, TrainError, TrainingGraph, training_graph};

/// What to train.
#[derive(Clone, Debug)]
pub struct Job {
    /// The model.
    pub model: Model,
    /// How many samples a step takes.
    pub batch: usize,
    /// What is minimized.
    pub loss: Loss,
    /// How.
    pub optimizer: Optimizer,
    /// Which ideas the plan may use.
    pub options: Options,
    /// How many threads kernels run on; results do not depend on it, a little scratch does.
    pub threads: usize,
}

/// A job whose peak is known.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job it was made from.
    pub job: Job,
    /// The graph of a step, and the values the training loop writes and reads.
    pub training: TrainingGraph,
    /// The proved plan of a step.
    pub step: VerifiedPlan,
    /// The proved plan that predicts a batch with the weights being trained, in the same arena.
    pub evaluation: Evaluation,
}

/// A plan that predicts a batch.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// How many samples at once.
    pub batch: usize,
    /// What the caller writes.
    pub input: ValueId,
    /// What the caller reads.
    pub predictions: ValueId,
    /// The proved plan.
    pub plan: VerifiedPlan,
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
    #[error(transparent)]
    OverBudget(Box<OverBudget>),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    #[error("step {step}: {error}")]
    Step { step: u64, error: StepError },
    #[error("step {step}: the loss is no longer a number; {}", first_non_finite(.first))]
    NotFinite { step: u64, first: StepError },
    #[error("{model} takes no sequences of tokens, so its samples have no length")]
    NoLength { model: String },
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
    /// A job with Keras's usual choices: Adam, sparse categorical cross-entropy, every thread of the machine.
    pub fn new(model: Model, batch: usize) -> Self {
        Self {
            model,
            batch,
            loss: Loss::SparseCategoricalCrossEntropy { from_logits: false },
            optimizer: Optimizer::parse("adam").expect("adam is an optimizer"),
            options: Options::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Plans and proves a step, and an evaluation that fits beside it.
    pub fn prepare(&self) -> Result<Prepared, JobError> {
        self.prepare_beside(&Residents::default())
    }

    /// The same with weights that already have their places.
    pub(crate) fn prepare_beside(&self, residents: &Residents) -> Result<Prepared, JobError> {
        let training = self.training_graph()?;
        let step = self.plan_step(&training, residents)?;
        let evaluation = self.plan_evaluation(&step)?;
        Ok(Prepared { job: self.clone(), training, step, evaluation })
    }

    /// Prepares the job for a budget, or says what is in the way and what would help.
    pub fn prepare_within(&self, budget: Bytes) -> Result<Prepared, JobError> {
        self.prepare()?.within(budget)
    }

    fn training_graph(&self) -> Result<TrainingGraph, JobError> {
        let forward = self.model.lower(self.batch, Mode::Training)?;
        Ok(training_graph(forward, self.loss, self.optimizer)?)
    }

    fn plan_step(&self, training: &TrainingGraph, residents: &Residents) -> Result<VerifiedPlan, JobError> {
        let kernels = CpuKernels { threads: self.threads };
        let made = plan(&training.graph, &kernels, self.options, residents);
        Ok(verify(training.graph.clone(), made, &kernels)?)
    }

    /// Halves the batch until the evaluation needs no more than the step does.
    fn plan_evaluation(&self, step: &VerifiedPlan) -> Result<Evaluation, JobError> {
        let kernels = CpuKernels { threads: self.threads };
        let residents = step.plan().residents(step.graph());
        let mut batch = self.batch;
        loop {
            let graph = self.model.lower(batch, Mode::Inference)?;
            let made = plan(&graph, &kernels, self.options, &residents);
            if made.peak <= step.plan().peak || batch == 1 {
                let input = graph.inputs().next().ok_or(TrainError::NoInput)?;
                let predictions = graph.outputs()[0];
                return Ok(Evaluation { batch, input, predictions, plan: verify(graph, made, &kernels)? });
            }
            batch = batch.div_ceil(2);
        }
    }

    /// The peak of a step, without the proof and the evaluation; for looking around.
    pub(crate) fn step_peak(&self) -> Result<Bytes, JobError> {
        let training = self.training_graph()?;
        let kernels = CpuKernels { threads: self.threads };
        Ok(plan(&training.graph, &kernels, self.options, &Residents::default()).peak)
    }
}

impl Prepared {
    /// The same, if its peak is within a budget.
    pub(crate) fn within(self, budget: Bytes) -> Result<Self, JobError> {
        match self.peak() <= budget {
            true => Ok(self),
            false => Err(JobError::OverBudget(Box::new(OverBudget::explain(&self, budget)))),
        }
    }

    /// The plan of a step.
    pub fn plan(&self) -> &Plan {
        self.step.plan()
    }

    /// What the whole run takes: the step's peak, or the evaluation's where that is larger.
    pub fn peak(&self) -> Bytes {
        self.step.plan().peak.max(self.evaluation.plan.plan().peak)
    }

    /// The peak of the step if other ideas were allowed.
    pub fn step_peak_with(&self, options: Options) -> Bytes {
        let kernels = CpuKernels { threads: self.job.threads };
        plan(&self.training.graph, &kernels, options, &Residents::default()).peak
    }

    /// Where the step's memory goes.
    pub fn usage(&self) -> Usage {
        usage(self.step.graph(), self.step.plan())
    }
}

impl JobError {
    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OverBudget(over) => Some(over.hint()),
            Self::OutOfMemory(refused) => Some(refused.hint()),
            Self::Step { error: StepError::OutOfMemory(shortage), .. } => {
                let options = match shortage.is_fragmentation() {
                    true => "--growth off, --on-oom compact or shrink, --mode graph",
                    false => "--on-oom shrink, --batch, --mode graph",
                };
                Some(format!("{} ({options})", shortage.hint()))
            }
            Self::NotFinite { .. } => Some(
                "a smaller --learning-rate helps most often; check the data for absurd values".to_string(),
            ),
            Self::Data(DataError::Unknown { .. }) => {
                let names: Vec<&str> = crate::data::NAMES.iter().map(|(name, _)| *name).collect();
                Some(format!("the data sets are {}", names.join(", ")))
            }
            Self::Data(DataError::Mismatch { name: "digits", .. }) => {
                Some("digits are 8x8 images with one channel: try `cnn@8,channels=1` or `mlp@64`".to_string())
            }
            Self::Model(ModelError::EmptyBatch) => Some("--batch must be at least 1".to_string()),
            _ => None,
        }
    }
}
