//! A job as it is asked for: a model by its name or file, and what is to be different from what the file says and from
//! the usual.
//!
//! ```
//! use plimsoll::JobRequest;
//!
//! let opened = JobRequest { batch: 8, ..JobRequest::of("cnn@8,channels=1") }.open()?;
//! assert_eq!(opened.job.batch, 8);
//! assert_eq!(opened.job.optimizer.name(), "adam");
//! # Ok::<(), plimsoll::RequestError>(())
//! ```

use crate::data::Outline;
use crate::specification::{self, Opened};
use crate::{Job, Note, OnNan, RequestError, Watch, cached_profile, imported};
use plimsoll_exec::CpuBackend;
use plimsoll_graph::samples::Mixing;
use plimsoll_import::keras::Keras;
use plimsoll_model::ModelError;
use plimsoll_train::{Loss, Objective, Optimizer, Settings};
use std::sync::Arc;

/// The most threads that kernels run on: more than any machine has use for, few enough to start at once.
pub const MOST_THREADS: usize = 512;

/// A job as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRequest {
    /// The model, such as `resnet50@224` or `model.keras`.
    pub model: String,
    /// How many samples a step takes.
    pub batch: usize,
    /// Into how many micro-batches a batch is cut.
    pub micro_batches: Option<usize>,
    /// What is minimized; without it, what the model's file was compiled with, or the usual.
    pub loss: Option<Loss>,
    /// How; without it, what the model's file was compiled with, or Adam.
    pub optimizer: Option<Optimizer>,
    /// What happens to a step whose loss or gradients are not finite.
    pub on_nan: OnNan,
    /// How many threads kernels run on; without it, all.
    pub threads: Option<usize>,
    /// Who is told how a search for a plan goes on.
    pub watch: Watch,
}

/// A job with what else its model's file says.
pub struct OpenedJob {
    /// The job.
    pub job: Job,
    /// The file, if there is one.
    pub keras: Option<Keras>,
    /// The learning rate that the file asks for, if the job has the file's optimizer with all its settings.
    pub learning_rate: Option<f32>,
    /// What the caller should know.
    pub notes: Vec<Note>,
}

impl JobRequest {
    /// A model with everything as its file says or as usual.
    pub fn of(model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            model,
            batch: 32,
            micro_batches: None,
            loss: None,
            optimizer: None,
            on_nan: OnNan::Stop,
            threads: None,
            watch: Watch::default(),
        }
    }

    /// The job that is meant.
    pub fn open(&self) -> Result<OpenedJob, RequestError> {
        self.open_for(None)
    }

    /// The same; data fill in the size and the classes of a model that is named without.
    pub fn open_for(&self, data: Option<&Outline>) -> Result<OpenedJob, RequestError> {
        let opened = specification::open(&self.model, data)?;
        let mut notes = opened.notes();
        let Opened { model, keras } = opened;
        let mut job = Job::new(model, self.batch);
        (job.micro_batches, job.on_nan) = (self.micro_batches.unwrap_or(1), self.on_nan);
        if job.micro_batches > job.batch.max(1) {
            let (batch, micro_batches) = (job.batch, job.micro_batches);
            return Err(RequestError::MicroBatches { batch, micro_batches });
        }
        if let Some(threads) = self.threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
            return Err(RequestError::Threads { threads });
        }
        let learning_rate = self.compile(&mut job, keras.as_ref(), &mut notes)?;
        let cpu = self.threads.map_or_else(CpuBackend::default, CpuBackend::new);
        let (profile, stale) = cached_profile(cpu.threads);
        (job.profile, job.backend, job.watch) = (profile, Arc::new(cpu), self.watch.clone());
        notes.extend(stale.map(|stale| Note::Profile(stale.to_string())));
        Ok(OpenedJob { job, keras, learning_rate, notes })
    }

    /// The same for looking at it: what a file was compiled with and is not known here is replaced, and that is said.
    pub fn open_to_show(&self) -> Result<OpenedJob, RequestError> {
        let (why, instead, other) = match self.open() {
            Err(RequestError::CompiledOptimizer(why)) => {
                let usual = Optimizer::DEFAULTS[4];
                (why, usual.to_string(), Self { optimizer: Some(usual), ..self.clone() })
            }
            Err(RequestError::CompiledLoss(why)) => {
                let usual = Loss::MeanSquaredError;
                (why, usual.to_string(), Self { loss: Some(usual), ..self.clone() })
            }
            opened => return opened,
        };
        let mut opened = other.open_to_show()?;
        opened.notes.retain(|note| !matches!(note, Note::OtherOptimizer { .. }));
        opened.notes.push(Note::Instead { why, instead });
        Ok(opened)
    }

    /// Sets loss and optimizer: those asked for, else those the model was compiled with, else the usual ones. Gives the
    /// learning rate it was compiled with, if that optimizer is used.
    fn compile(
        &self,
        job: &mut Job,
        keras: Option<&Keras>,
        notes: &mut Vec<Note>,
    ) -> Result<Option<f32>, RequestError> {
        let compiled = keras.map(|keras| &keras.compiled);
        if let Some(loss) = self.loss {
            job.objective = Objective::everywhere(job.model.output_names(), loss);
        } else if let Some(compiled) = compiled {
            let saved = imported::objective(compiled, &job.model).map_err(RequestError::CompiledLoss)?;
            job.objective = saved.unwrap_or(job.objective.clone());
        }
        let setting = compiled.and_then(|compiled| compiled.optimizer.as_ref());
        let saved = setting.map(imported::optimizer);
        job.settings.constraints = keras.map(|keras| keras.constraints.clone()).unwrap_or_default();
        match (self.optimizer, saved) {
            (None, None) => Ok(None),
            (Some(given), None) => {
                job.optimizer = given;
                Ok(None)
            }
            // Who names the optimizer that the file has means the file's.
            (Some(given), Some(Ok((descent, rate)))) if descent.optimizer.name() == given.name() => {
                let constraints = std::mem::take(&mut job.settings.constraints);
                (job.optimizer, job.settings) =
                    (descent.optimizer, Settings { constraints, ..descent.settings });
                Ok(Some(rate))
            }
            (Some(given), Some(_)) => {
                job.optimizer = given;
                let file = setting.map(|setting| setting.name.clone()).unwrap_or_default();
                notes.push(Note::OtherOptimizer { file, given: given.name().to_string() });
                Ok(None)
            }
            (None, Some(saved)) => {
                let (descent, rate) = saved.map_err(RequestError::CompiledOptimizer)?;
                let constraints = std::mem::take(&mut job.settings.constraints);
                (job.optimizer, job.settings) =
                    (descent.optimizer, Settings { constraints, ..descent.settings });
                Ok(Some(rate))
            }
        }
    }
}

impl Job {
    /// What lets the samples of a batch see each other in training: in the model, or in a loss.
    pub fn mixing(&self) -> Result<Option<Mixing>, ModelError> {
        let loss = self.objective.heads.iter().find_map(|head| head.mixing());
        Ok(self.model.mixing()?.or(loss.map(|op| Mixing { op, layer: String::new() })))
    }

    /// The one loss of all outputs. What is known about other frameworks is about such jobs.
    pub fn only_loss(&self) -> Result<Loss, RequestError> {
        if let Some(head) = self.objective.heads.iter().find(|head| !head.is_plain()) {
            let loss = format!("{} along another axis or with another reduction", head.loss);
            return Err(RequestError::UnmeasuredLoss { loss });
        }
        match self.objective.only_loss(self.model.outputs.len()) {
            None => Err(RequestError::SeveralLosses),
            Some(loss @ Loss::Composed(_)) => Err(RequestError::UnmeasuredLoss { loss: loss.to_string() }),
            Some(loss) => Ok(loss),
        }
    }
}
