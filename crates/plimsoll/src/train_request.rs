//! A training run as it is asked for, and put together: job or plan, device, data, how long, and what is kept of it.

use crate::data::{self, BoundData, DataError, InputRequest, OwnData, Wanted};
use crate::promise::promise;
use crate::recording::{Way, about};
use crate::run_files::RunFiles;
use crate::trainer::peak;
use crate::training_run::TrainingRun;
use crate::{
    Allowed, Bytes, DeviceRequest, EagerOptions, JobRequest, Lever, Note, OnShortage, PlanFile, Prepared,
    RequestError, Run, fit, imported, specification,
};
use plimsoll_graph::Op;
use plimsoll_import::keras::Keras;
use plimsoll_memory::{
    ALLOCATOR_NAMES, AllocatorOptions, BfcOptions, Device, Growth, HostMemory, TorchOptions, by_name,
};
use plimsoll_state::growing_file;
use plimsoll_trace::Recorder;
use plimsoll_train::Descent;
use std::path::{Path, PathBuf};

/// The allocator of an eager run where none is named.
pub const USUAL_ALLOCATOR: &str = "bfc";

/// A training run as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainRequest {
    /// What a step is.
    pub step: StepSource,
    /// Where it runs.
    pub device: DeviceRequest,
    /// The data set: a name, or the path of data of one's own.
    pub data: String,
    /// What else is said about data of one's own.
    pub input: InputRequest,
    /// How long.
    pub length: RunLength,
    /// How far each step goes; without it, what the model's file was compiled with, or what Keras uses for the
    /// optimizer.
    pub learning_rate: Option<f32>,
    /// Decides the first weights, the order of samples and what dropout drops.
    pub seed: u64,
    /// How tensors get their memory.
    pub memory_use: MemoryUse,
    /// The lengths of sequences, which take turns; none leaves samples as they are.
    pub lengths: Vec<usize>,
    /// The state to go on from, or weights to begin with: a safetensors file.
    pub from: Option<PathBuf>,
    /// Where the result is written: a state as `.safetensors`, or the model's own Keras file with the new weights.
    pub save: Option<PathBuf>,
    /// Where the trace is written.
    pub trace: Option<PathBuf>,
    /// Whether freed bytes are overwritten, to show that nobody reads them.
    pub poison: bool,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq)]
pub enum StepSource {
    /// A job, which is planned.
    Job(JobRequest),
    /// A plan on disk, which is proved again.
    Plan(PathBuf),
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLength {
    /// Until every sample was seen so often.
    Epochs(u64),
    /// So many steps.
    Steps(u64),
}

/// How tensors get their memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryUse {
    /// By a plan, in one arena.
    Planned,
    /// Op by op, from an allocator.
    Eager(EagerRequest),
}

/// An eager run as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct EagerRequest {
    /// Who gives out memory.
    pub allocator: String,
    /// Whether it takes memory as it is needed or all of it at once; only the usual one can be told.
    pub growth: Option<bool>,
    /// The settings of PyTorch's allocator; none as usual.
    pub torch: Option<TorchOptions>,
    /// What happens when it has nothing left.
    pub on_shortage: OnShortage,
}

impl TrainRequest {
    /// A job trained on a data set as usual: ten epochs, planned, on the host with its automatic limit.
    pub fn of(job: JobRequest, data: impl Into<String>) -> Self {
        Self {
            step: StepSource::Job(job),
            device: DeviceRequest::default(),
            data: data.into(),
            input: InputRequest::default(),
            length: RunLength::Epochs(10),
            learning_rate: None,
            seed: 0,
            memory_use: MemoryUse::Planned,
            lengths: Vec::new(),
            from: None,
            save: None,
            trace: None,
            poison: false,
        }
    }

    /// What the caller should know before the run is put together, also if it cannot be.
    pub fn notes(&self) -> Vec<Note> {
        let promised = HostMemory::read().promised;
        let counts = self.is_automatic() && promised > Bytes::ZERO;
        counts.then_some(Note::Promised { promised }).into_iter().collect()
    }

    /// Puts the run together: what cannot be done is refused here, before anything runs.
    pub fn open(&self) -> Result<TrainingRun, RequestError> {
        let opened = match &self.step {
            StepSource::Job(job) => self.open_job(job)?,
            StepSource::Plan(path) => self.open_plan(path)?,
        };
        let OpenedStep { device, prepared, keras, compiled, mut notes, own } = opened;
        let (descent, compiled_rate) = compiled.unzip();
        let taken = self.expected(&prepared) + own.as_ref().map_or(Bytes::ZERO, BoundData::memory);
        let promised = promise(&prepared[0].job.model.name, taken, self.is_automatic())?;
        let device = self.taken_at_once(device, &prepared, &mut notes)?;
        notes.extend(micro_batches(&prepared[0]));
        notes.extend(no_logits(&prepared[0]));
        let files = RunFiles::open(keras, descent, self.from.as_deref(), self.save.clone())?;
        let seed = files.seed(self.seed);
        notes.extend(idle_outputs(&prepared[0]));
        let data = match &own {
            Some(own) => {
                notes.extend(own.notes.iter().cloned());
                own.dataset(&self.data, prepared[0].job.batch.max(prepared[0].evaluation.batch))?
            }
            None => data::open(&self.data, &Wanted::of(&prepared[0].training), seed)?,
        };
        let run = Run {
            steps: self.steps(prepared[0].job.batch, data.train.count())?,
            learning_rate: self.learning_rate(&prepared[0], files.learning_rate().or(compiled_rate))?,
            seed,
            poison: self.poison,
        };
        notes.extend(files.check(&prepared[0], run.steps)?);
        notes.extend(files.goes_on());
        let recorder = self.recorder(&prepared, &device)?;
        let eager = match &self.memory_use {
            MemoryUse::Planned => None,
            MemoryUse::Eager(eager) => Some(eager.options()),
        };
        Ok(TrainingRun { prepared, device, data, own, run, files, recorder, eager, notes, promised })
    }

    /// The device with its limit, and the job planned for each length: within the limit, unless an allocator is asked
    /// step by step.
    fn open_job(&self, job: &JobRequest) -> Result<OpenedStep, RequestError> {
        let own = self.own_data(job.threads)?;
        let outline = own.as_ref().map(OwnData::outline).or_else(|| data::outline(&self.data));
        let mut opened = job.open_for(outline.as_ref())?;
        let compiled = opened.learning_rate.map(|rate| (opened.job.descent(), rate));
        // A rate that is given takes the place of a schedule.
        if self.learning_rate.is_some() {
            opened.job.settings.schedule = None;
        }
        if own.as_ref().is_some_and(OwnData::has_weights) {
            opened.job.objective = opened.job.objective.with_sample_weights();
        }
        if let MemoryUse::Eager(eager) = &self.memory_use {
            eager.check()?;
        }
        if !self.lengths.is_empty() && self.data != "synthetic" {
            return Err(RequestError::Lengths);
        }
        let own = own.map(|own| own.bind(&opened.job)).transpose()?;
        let device = leave_room(self.device()?, own.as_ref())?;
        let budget = (self.memory_use == MemoryUse::Planned).then_some(device.limit());
        let prepared = match (budget, job.micro_batches, &self.lengths[..]) {
            // Who asks for one micro-batch wants the numbers of a whole batch.
            (Some(budget), Some(1), []) => {
                vec![fit(&opened.job, budget, Allowed::EXACT.without(Lever::Accumulate))?.prepared]
            }
            _ => opened.job.prepare_lengths(&self.lengths, budget)?,
        };
        let (keras, notes) = (opened.keras, opened.notes);
        Ok(OpenedStep { device, prepared, keras, compiled, notes, own })
    }

    /// Data of one's own, if such are meant.
    fn own_data(&self, threads: Option<usize>) -> Result<Option<OwnData>, RequestError> {
        if !OwnData::is_meant(&self.data) {
            return match self.input == InputRequest::default() {
                true => Ok(None),
                false => Err(RequestError::IdleInput { data: self.data.clone() }),
            };
        }
        let limit = self.device.memory.or_else(|| HostMemory::read().automatic_limit());
        let half = Bytes(limit.map_or(u64::MAX, |limit| limit.0) / 2);
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let own = OwnData::open(&self.data, &self.input, half, threads).map_err(DataError::from)?;
        Ok(Some(own))
    }

    /// The device with its limit, and what a plan on disk says; proved again.
    fn open_plan(&self, path: &Path) -> Result<OpenedStep, RequestError> {
        let file = PlanFile::read(path).map_err(crate::JobError::from)?;
        let opened = specification::open(&file.model, None)?;
        let notes = opened.notes();
        let compiled = opened.keras.as_ref().and_then(|keras| keras.compiled.optimizer.as_ref());
        let compiled = compiled.and_then(|setting| imported::optimizer(setting).ok());
        let constraints = opened.keras.as_ref().map(|keras| keras.constraints.clone()).unwrap_or_default();
        let compiled = compiled.map(|(mut found, rate)| {
            found.settings.constraints = constraints;
            (found, rate)
        });
        let compiled = compiled
            .filter(|(found, _)| (found.optimizer, &found.settings) == (file.optimizer, &file.settings));
        let mut prepared = file.prepare(opened.model)?;
        if self.learning_rate.is_some() {
            prepared.job.settings.schedule = None;
        }
        let own = self.own_data(None)?.map(|own| own.bind(&prepared.job)).transpose()?;
        let device = leave_room(self.device()?, own.as_ref())?;
        let (peak, limit) = (prepared.peak(), device.limit());
        if peak > limit {
            return Err(RequestError::PlanTooLarge { model: file.model, batch: file.batch, peak, limit });
        }
        Ok(OpenedStep { device, prepared: vec![prepared], keras: opened.keras, compiled, notes, own })
    }

    /// Whether nobody said how much may be taken.
    fn is_automatic(&self) -> bool {
        self.device.memory.is_none() && self.device.split.is_empty()
    }

    /// In eager mode whether memory is taken at once is the allocator's business. An automatic limit is most of the
    /// machine and never taken at once.
    fn device(&self) -> Result<Device, RequestError> {
        let growth = match self.memory_use == MemoryUse::Planned && !self.is_automatic() {
            true => self.device.growth,
            false => Growth::On,
        };
        Ok(DeviceRequest { growth, ..self.device.clone() }.open()?)
    }

    /// Where memory is to be taken at once and nobody said how much: a device for what the plans need.
    fn taken_at_once(
        &self,
        device: Device,
        prepared: &[Prepared],
        notes: &mut Vec<Note>,
    ) -> Result<Device, RequestError> {
        let at_once = self.memory_use == MemoryUse::Planned && self.device.growth == Growth::Off;
        if !at_once || !self.is_automatic() {
            return Ok(device);
        }
        let (peak, limit) = (peak(prepared), device.limit());
        notes.push(Note::TakenAtOnce { peak, limit });
        Ok(DeviceRequest { memory: Some(peak), ..self.device.clone() }.open()?)
    }

    /// What the run will take: what was planned; of an eager run what it was given, or nearly what a plan would take.
    fn expected(&self, prepared: &[Prepared]) -> Bytes {
        match (&self.memory_use, self.device.memory) {
            (MemoryUse::Eager(_), Some(limit)) => limit,
            _ => peak(prepared),
        }
    }

    fn steps(&self, batch: usize, samples: usize) -> Result<u64, RequestError> {
        match self.length {
            RunLength::Epochs(0) => Err(RequestError::NothingToDo { unit: "epochs" }),
            RunLength::Steps(0) => Err(RequestError::NothingToDo { unit: "steps" }),
            RunLength::Epochs(epochs) => Ok((samples as u64 * epochs).div_ceil(batch.max(1) as u64)),
            RunLength::Steps(steps) => Ok(steps),
        }
    }

    fn learning_rate(&self, prepared: &Prepared, compiled: Option<f32>) -> Result<f32, RequestError> {
        let given = self.learning_rate.or(compiled);
        let rate = given.unwrap_or(prepared.job.optimizer.default_learning_rate());
        match rate.is_finite() && rate >= 0.0 {
            true => Ok(rate),
            false => Err(RequestError::LearningRate { rate }),
        }
    }

    fn recorder(&self, prepared: &[Prepared], device: &Device) -> Result<Option<Recorder>, RequestError> {
        let Some(path) = &self.trace else { return Ok(None) };
        if self.save.as_ref() == Some(path) {
            let error = std::io::Error::other("both the trace and the result would go there");
            return Err(RequestError::Unwritable { path: path.clone(), error });
        }
        let way = match &self.memory_use {
            MemoryUse::Planned => Way::Planned,
            MemoryUse::Eager(eager) => Way::Eager(&eager.allocator),
        };
        let about = about(prepared, &prepared[0].headline(), device, way);
        let head = plimsoll_trace::file::HEADER.as_bytes();
        let recorder =
            growing_file::create(path, head).and_then(|file| Recorder::new(Box::new(file), &about));
        recorder.map(Some).map_err(|error| RequestError::Unwritable { path: path.clone(), error })
    }
}

impl Default for EagerRequest {
    /// The usual allocator; a run that stops when memory runs out.
    fn default() -> Self {
        Self {
            allocator: USUAL_ALLOCATOR.to_string(),
            growth: None,
            torch: None,
            on_shortage: OnShortage::Stop,
        }
    }
}

impl EagerRequest {
    fn check(&self) -> Result<(), RequestError> {
        let allocator = self.allocator.clone();
        if !ALLOCATOR_NAMES.contains(&allocator.as_str()) {
            return Err(RequestError::Allocator { name: allocator });
        }
        if self.torch.is_some() && !allocator.starts_with("torch") {
            return Err(RequestError::TorchSettings { allocator });
        }
        if allocator == "torch-expandable" || self.torch.is_some_and(|torch| torch.expandable) {
            return Err(RequestError::Expandable);
        }
        match allocator != USUAL_ALLOCATOR && self.growth.is_some() {
            true => Err(RequestError::Growth { allocator }),
            false => Ok(()),
        }
    }

    fn options(&self) -> EagerOptions {
        let bfc = BfcOptions { growth: self.growth.unwrap_or(true), ..BfcOptions::default() };
        let options = AllocatorOptions { bfc, torch: self.torch.unwrap_or_default() };
        let name = self.allocator.clone();
        let allocator = Box::new(move || by_name(&name, &options).expect("the name was checked"));
        EagerOptions { allocator, on_shortage: self.on_shortage }
    }
}

/// What steps are made of, before there are data.
struct OpenedStep {
    device: Device,
    prepared: Vec<Prepared>,
    keras: Option<Keras>,
    /// The optimizer and the learning rate of the model's file, if they are used.
    compiled: Option<(Descent, f32)>,
    notes: Vec<Note>,
    /// Data of one's own.
    own: Option<BoundData>,
}

/// Takes what reading data needs from what a device may hold.
fn leave_room(device: Device, own: Option<&BoundData>) -> Result<Device, RequestError> {
    let Some(input) = own.map(BoundData::memory) else { return Ok(device) };
    let limit = device.limit();
    if input >= limit {
        return Err(RequestError::InputMemory { input, limit });
    }
    device.resize(limit - input)?;
    Ok(device)
}

/// That and how a batch is cut.
fn micro_batches(prepared: &Prepared) -> Option<Note> {
    let count = prepared.job.micro_batches;
    let draws = |op: &Op| op.kind.draws();
    let random = prepared.training.graph.ops().iter().any(draws);
    (count > 1).then(|| Note::MicroBatches { count, rows: prepared.parts[0].rows, random })
}

/// Which losses ask for logits and get probabilities.
fn no_logits(prepared: &Prepared) -> impl Iterator<Item = Note> + '_ {
    let heads = prepared.training.heads.iter().filter(|head| head.repaired);
    heads.map(|head| Note::NoLogits { output: head.output.clone() })
}

/// Which outputs have no loss, and what of the model stays as it is for that.
fn idle_outputs(prepared: &Prepared) -> Vec<Note> {
    let Prepared { job, training, .. } = prepared;
    let trained = |position: usize| job.objective.heads.iter().any(|head| head.output == position);
    let outputs = job.model.output_names().enumerate().filter(|(position, _)| !trained(*position));
    let outputs = outputs.map(|(_, output)| Note::IdleOutput { output: output.to_string() });
    let weights = training.idle.first().map(|&first| Note::IdleWeights {
        name: training.graph.value(first).name.clone(),
        count: training.idle.len(),
    });
    outputs.chain(weights).collect()
}
