//! The eager training loop: every tensor is taken from an allocator and freed after its last use.
//!
//! When memory runs out the run stops with the evidence, or goes on without losing a sample: with the batch in parts,
//! or after a compaction.

use crate::data::{Bound, Dataset, Samples};
use crate::engine::{self, Batch, Loaded, Measured, Scalars};
use crate::exchange::Reached;
use crate::micro_batches::{self, LoadedUpdates};
use crate::trainer::{Demand, peak, repeat, turn};
use crate::{Bytes, JobError, Outcome, Prepared, Progress, Run, Scores};
use plimsoll_exec::eager::{MakeAllocator, Updates};
use plimsoll_exec::{Backend, BindError, Eager, ProgramId, RunSettings, StepError};
use plimsoll_graph::Graph;
use plimsoll_graph::samples::Mixing;
use plimsoll_memory::Device;
use plimsoll_trace::Recorder;
use plimsoll_train::{ApplyingGraph, TrainingGraph};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

/// How an eager run takes memory.
pub struct EagerOptions {
    /// Makes the allocator.
    pub allocator: MakeAllocator,
    /// What happens when it has nothing left.
    pub on_shortage: OnShortage,
}

/// What happens when memory runs out in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnShortage {
    /// The run ends with the evidence.
    Stop,
    /// The step is made again in 2, 4, 8, ... parts, and so are those after it.
    Shrink,
    /// Live blocks are moved together and the step is made again, once.
    Compact,
}

/// How an eager run used its pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolUse {
    /// The allocator's name.
    pub allocator: &'static str,
    /// The most bytes in live blocks.
    pub peak_in_use: Bytes,
    /// The most bytes in regions.
    pub peak_reserved: Bytes,
    /// The largest share of the free bytes that was not in the largest free block, looked at after each op.
    pub worst_fragmentation: f64,
    /// How many steps were made in parts.
    pub shrunk_steps: u64,
    /// How often live blocks were moved together.
    pub compactions: u64,
}

/// Trains one job on one device, op by op.
pub struct EagerTrainer {
    /// One for each length of samples.
    prepared: Vec<Prepared>,
    eager: Eager,
    steps: Vec<ProgramId>,
    evaluation: ProgramId,
    /// What samples must have.
    wanted: Demand,
    run: Run,
    reached: Reached,
    on_shortage: OnShortage,
    parts: Parts,
    mixing: Option<Mixing>,
    /// In how many parts steps are made.
    count: usize,
    shrunk_steps: u64,
    compactions: u64,
    /// When the recording began, if there is one.
    recorded_since: Option<Instant>,
}

impl EagerTrainer {
    /// Takes blocks for the weights and fills them in.
    ///
    /// # Panics
    /// If nothing was prepared.
    pub fn new(
        prepared: Vec<Prepared>,
        device: &Device,
        run: Run,
        options: EagerOptions,
    ) -> Result<Self, JobError> {
        let threads = host_threads(&*prepared[0].job.backend, device)?;
        let settings = RunSettings { poison: run.poison, record: false };
        let mut eager = Eager::new(device, options.allocator, threads, settings)?;
        let failed = |error| JobError::Step { step: 0, error };
        let mut steps = Vec::with_capacity(prepared.len());
        for one in &prepared {
            let training = &one.training;
            steps.push(eager.load(training.graph.clone(), &[training.loss]).map_err(failed)?);
        }
        let evaluation = eager.load(prepared[0].evaluation.plan.graph().clone(), &[]).map_err(failed)?;
        engine::fill_persistent(&mut eager, &prepared[0].training.graph, &steps[..1], run.seed);
        Ok(Self {
            mixing: prepared[0].job.mixing()?,
            wanted: Demand::of(&prepared),
            prepared,
            eager,
            steps,
            evaluation,
            run,
            reached: Reached::default(),
            on_shortage: options.on_shortage,
            parts: Parts::default(),
            count: 1,
            shrunk_steps: 0,
            compactions: 0,
            recorded_since: None,
        })
    }

    /// From now on what steps do to memory is written down; see [`crate::recording`].
    pub fn record_to(&mut self, recorder: Recorder) {
        self.eager.record_to(recorder);
        self.recorded_since = Some(Instant::now());
    }

    /// Ends the recording, if there is one; says how many events are written out.
    pub fn finish_recording(&mut self) -> Option<std::io::Result<u64>> {
        self.recorded_since = None;
        self.eager.take_recorder().map(Recorder::finish)
    }

    /// Trains, telling the caller after each step where it is, and judges the result.
    pub fn train(&mut self, data: &Dataset, report: impl FnMut(Progress)) -> Result<Outcome, JobError> {
        let (run, reached, batch) = (self.run, self.reached, self.prepared[0].job.batch);
        let (train, test) = self.wanted.bind_all(data)?;
        let make = |step, samples: &[usize]| self.step(step, &train, samples);
        let (last, time) = repeat(run, reached, batch, &train, report, make)?;
        if let Some(since) = self.recorded_since {
            self.eager.mark_clock(since.elapsed());
        }
        let tested = test.map(|test| self.judge(&test)).transpose()?;
        let pool = self.pool_use();
        let peaks = [peak(&self.prepared), pool.peak_reserved];
        let steps = run.steps.saturating_sub(reached.step);
        let outcome = Outcome::new(last, tested, peaks, Some(pool), (steps, time));
        Ok(Outcome { skipped: self.reached.skipped - reached.skipped, ..outcome })
    }

    /// Finds in samples what steps are written with, or says what is missing.
    pub fn bind<'a>(&self, data: &'a dyn Samples) -> Result<Bound<'a>, JobError> {
        self.wanted.bind(data)
    }

    /// One step on the given samples, as many as were planned; in parts where memory has run out before.
    pub fn step(&mut self, step: u64, data: &Bound<'_>, samples: &[usize]) -> Result<Progress, JobError> {
        data.check(&self.wanted.training, self.prepared[0].job.batch, samples)?;
        if let Some(since) = self.recorded_since {
            self.eager.mark_step(step, since.elapsed());
        }
        let mut compacted = false;
        let measured = loop {
            match self.try_step(step, Batch { data, position: self.reached.position, samples }) {
                Err(error) if is_shortage(&error) => self.recover(error, samples.len(), &mut compacted)?,
                other => break other?,
            }
        };
        self.shrunk_steps += u64::from(self.count > 1);
        self.reached = self.reached.after(step, measured.skipped, samples.len(), data.count());
        Ok(Progress::new(step, self.run, measured, self.count))
    }

    /// What the model as trained so far says about samples.
    pub fn evaluate(&mut self, data: &dyn Samples) -> Result<Scores, JobError> {
        let data = self.wanted.evaluation.bind(data)?;
        self.judge(&data)
    }

    /// What lets samples of a batch see each other; nothing if a step in parts is the same as a whole one.
    pub fn mixing(&self) -> Option<&Mixing> {
        self.mixing.as_ref()
    }

    /// How the pool was used so far.
    pub fn pool_use(&self) -> PoolUse {
        let statistics = self.eager.statistics();
        PoolUse {
            allocator: self.eager.allocator(),
            peak_in_use: statistics.peak_in_use,
            peak_reserved: statistics.peak_reserved,
            worst_fragmentation: self.eager.worst_fragmentation(),
            shrunk_steps: self.shrunk_steps,
            compactions: self.compactions,
        }
    }

    /// The executor, for reading values.
    pub fn eager(&self) -> &Eager {
        &self.eager
    }

    pub(crate) fn eager_mut(&mut self) -> &mut Eager {
        &mut self.eager
    }

    /// The training graph of a whole step.
    pub(crate) fn whole_graph(&self) -> &Graph {
        &self.prepared[0].training.graph
    }

    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) fn seed(&self) -> u64 {
        self.run.seed
    }

    pub(crate) fn go_on(&mut self, reached: Reached, seed: u64) {
        self.reached = reached;
        self.run.seed = seed;
    }

    /// The program of a training step; of the first length, where there are several.
    pub fn program(&self) -> ProgramId {
        self.steps[0]
    }

    fn judge(&mut self, data: &Bound<'_>) -> Result<Scores, JobError> {
        self.reached.check_average(&self.prepared[0].job.settings)?;
        if let Some(since) = self.recorded_since {
            self.eager.mark_evaluation(since.elapsed());
        }
        let evaluation = &self.prepared[0].evaluation;
        engine::evaluate(&mut self.eager, self.evaluation, evaluation, data, self.run.steps)
    }

    fn try_step(&mut self, step: u64, batch: Batch<'_>) -> Result<Measured, JobError> {
        let variant = turn(step, self.steps.len());
        let prepared = &self.prepared[variant];
        let scalars = Scalars::new(step, self.reached, &self.run, &prepared.job.settings);
        if self.count > 1 {
            let sizes = micro_batches::sizes(batch.samples.len(), self.count);
            let failed = |error| JobError::Step { step, error };
            for &rows in &sizes {
                self.parts.load(&mut self.eager, (variant, rows), prepared, failed)?;
            }
            let part = |rows| self.parts.part(variant, rows);
            return micro_batches::step(&mut self.eager, &sizes, part, self.parts.updates(), scalars, batch);
        }
        let loaded = Loaded { training: &prepared.training, program: self.steps[variant] };
        engine::step(&mut self.eager, loaded, scalars, batch)
    }

    /// Makes another try possible, or gives the error back.
    fn recover(&mut self, error: JobError, batch: usize, compacted: &mut bool) -> Result<(), JobError> {
        match self.on_shortage {
            OnShortage::Shrink if self.count < batch => {
                self.count = (self.count * 2).min(batch);
                Ok(())
            }
            OnShortage::Compact if !*compacted => {
                let step = if let JobError::Step { step, .. } = &error { *step } else { 0 };
                let moved = self.eager.compact().map_err(|error| JobError::Step { step, error })?;
                *compacted = true;
                self.compactions += 1;
                moved.map(|_| ()).ok_or(error)
            }
            OnShortage::Stop | OnShortage::Shrink | OnShortage::Compact => Err(error),
        }
    }
}

/// The graphs of steps in parts, loaded when they are first needed.
#[derive(Default)]
struct Parts {
    /// By the position among the lengths and the rows of a part.
    graphs: HashMap<(usize, usize), (TrainingGraph, ProgramId)>,
    updates: Option<(ApplyingGraph, ProgramId)>,
}

impl Parts {
    fn load(
        &mut self,
        eager: &mut Eager,
        key: (usize, usize),
        prepared: &Prepared,
        failed: impl Fn(StepError) -> JobError,
    ) -> Result<(), JobError> {
        if self.updates.is_none() {
            let graph = prepared.job.applying_graph(&prepared.training)?;
            let program = eager.load(graph.graph.clone(), &[]).map_err(&failed)?;
            self.updates = Some((graph, program));
        }
        if let Entry::Vacant(vacant) = self.graphs.entry(key) {
            let training = prepared.job.accumulating_graph(key.1)?;
            // A part that fails leaves nothing but half a sum, so its gradients may be added up and freed early.
            let loaded = eager.load_with(training.graph.clone(), &[training.loss], Updates::WhenReady);
            vacant.insert((training, loaded.map_err(failed)?));
        }
        Ok(())
    }

    fn part(&self, variant: usize, rows: usize) -> Loaded<'_> {
        let (training, program) = &self.graphs[&(variant, rows)];
        Loaded { training, program: *program }
    }

    fn updates(&self) -> LoadedUpdates<'_> {
        let (graph, program) = self.updates.as_ref().expect("they are loaded with the first part");
        LoadedUpdates { graph, program: *program }
    }
}

/// How many threads the kernels run on, if they are the CPU's and the device is the host.
fn host_threads(backend: &dyn Backend, device: &Device) -> Result<usize, JobError> {
    let name = backend.name().to_string();
    match backend.cpu() {
        Some(cpu) if device.is_host() => Ok(cpu.threads),
        Some(_) => Err(BindError::OtherDevice { backend: name, device: device.name().to_string() }.into()),
        None => Err(JobError::NotEager { backend: name }),
    }
}

fn is_shortage(error: &JobError) -> bool {
    matches!(error, JobError::Step { error: StepError::OutOfMemory(_), .. })
}
