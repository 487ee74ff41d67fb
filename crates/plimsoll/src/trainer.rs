//! The training loop.

use crate::batches;
use crate::data::{Dataset, Samples};
use crate::engine::{self, Batch, Loaded, Measured, Scalars};
use crate::exchange::Reached;
use crate::parts::{self, LoadedUpdates};
use crate::{Bytes, JobError, PoolUse, Prepared};
use plimsoll_exec::{Executor, ProgramId, Settings};
use plimsoll_graph::{Graph, ValueId};
use plimsoll_memory::{Device, process};
use plimsoll_plan::VerifiedArena;
use plimsoll_trace::Recorder;
use std::time::{Duration, Instant};

/// How long and how to train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// How many steps in all, those that were made before included.
    pub steps: u64,
    /// How far each step goes.
    pub learning_rate: f32,
    /// Decides the first weights, the order of samples and what dropout drops.
    pub seed: u64,
    /// Whether freed bytes are overwritten, to show that nobody reads them.
    pub poison: bool,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps to do.
    pub steps: u64,
    /// The loss of this step.
    pub loss: f32,
    /// The share of this batch that was predicted right, for losses that have classes.
    pub accuracy: Option<f32>,
    /// In how many parts the step was made.
    pub parts: usize,
    /// Whether it changed nothing, because its loss or a gradient was not finite; only for jobs that skip such steps.
    pub skipped: bool,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Steps done in this run.
    pub steps: u64,
    /// How many of them changed nothing, because something was not finite.
    pub skipped: u64,
    /// The loss of the last step.
    pub loss: f32,
    /// The share of the test samples (of the last batch, where there are none) that is predicted right.
    pub accuracy: Option<f32>,
    /// Whether the accuracy was measured on samples that were not learned from.
    pub on_test_samples: bool,
    /// What the plan promised; of an eager run, what it would have promised for the same steps.
    pub planned_peak: Bytes,
    /// The end of the highest buffer that was used; of an eager run, the most bytes that were reserved.
    pub measured_peak: Bytes,
    /// How an eager run used its pool; nothing for a planned one.
    pub pool: Option<PoolUse>,
    /// The most memory the whole process has had.
    pub peak_resident: Option<Bytes>,
    /// The time all steps took.
    pub time: Duration,
}

/// Trains one job on one device, by its plan.
pub struct Trainer {
    /// One for each length of samples.
    prepared: Vec<Prepared>,
    executor: Executor,
    /// What a step of each runs.
    steps: Vec<Programs>,
    run: Run,
    reached: Reached,
    /// When the recording began, if there is one.
    recorded_since: Option<Instant>,
}

impl Trainer {
    /// Maps the arena and fills in the first weights.
    pub fn new(prepared: Prepared, device: &Device, run: Run) -> Result<Self, JobError> {
        Self::with_lengths(vec![prepared], device, run)
    }

    /// The same for several lengths, which the steps go through in turn. They come from [`crate::Job::prepare_lengths`], so that all
    /// plans have the weights in the same places.
    ///
    /// # Panics
    /// If there is none.
    pub fn with_lengths(prepared: Vec<Prepared>, device: &Device, run: Run) -> Result<Self, JobError> {
        let job = &prepared[0].job;
        let settings = Settings { poison: run.poison, record: false };
        let arena = VerifiedArena::join(prepared.iter().map(|one| &one.arena))?;
        let watched: Vec<Vec<ValueId>> = prepared.iter().flat_map(watched).collect();
        let mut executor = Executor::new(&*job.backend, arena, &watched, device, &job.model.name, settings)?;
        let mut programs = executor.programs();
        let steps: Vec<Programs> = prepared.iter().map(|one| Programs::of(one, &mut programs)).collect();
        engine::fill_persistent(&mut executor, &prepared[0].training.graph, &steps[0].all(), run.seed);
        Ok(Self { prepared, executor, steps, run, reached: Reached::default(), recorded_since: None })
    }

    /// From now on what steps do to memory is written down; see [`crate::recording`].
    pub fn record_to(&mut self, recorder: Recorder) {
        self.executor.record_to(recorder);
        self.recorded_since = Some(Instant::now());
    }

    /// Ends the recording, if there is one; says how many events are written out.
    pub fn finish_recording(&mut self) -> Option<std::io::Result<u64>> {
        self.recorded_since = None;
        self.executor.take_recorder().map(Recorder::finish)
    }

    /// Trains, telling the caller after each step where it is, and judges the result.
    pub fn train(&mut self, data: &Dataset, report: impl FnMut(Progress)) -> Result<Outcome, JobError> {
        let (run, reached, batch) = (self.run, self.reached, self.prepared[0].job.batch);
        let (last, time) = repeat(run, reached, batch, data, report, |step, samples| {
            self.step(step, &*data.train, samples)
        })?;
        self.mark(|recorder, elapsed| recorder.clock(elapsed));
        let tested = data.test.as_deref().map(|test| self.accuracy(test)).transpose()?;
        // Lengths whose turn did not come have not shown their peak.
        let turns = (reached.step..run.steps)
            .take(self.prepared.len())
            .map(|made| turn(made + 1, self.prepared.len()));
        let planned_peak =
            turns.map(|turn| self.prepared[turn].peak()).max().unwrap_or(self.prepared[0].peak());
        let measured_peak = self.executor.measured_peak();
        let steps = run.steps.saturating_sub(reached.step);
        match measured_peak == planned_peak {
            true => Ok(Outcome {
                skipped: self.reached.skipped - reached.skipped,
                ..Outcome::new(last, tested, [planned_peak, measured_peak], None, (steps, time))
            }),
            false => Err(JobError::BrokenPromise { planned: planned_peak, measured: measured_peak }),
        }
    }

    /// One step on the given samples.
    pub fn step(&mut self, step: u64, data: &dyn Samples, samples: &[usize]) -> Result<Progress, JobError> {
        self.mark(|recorder, elapsed| recorder.step(step, elapsed));
        let variant = turn(step, self.steps.len());
        let (prepared, programs) = (&self.prepared[variant], &self.steps[variant]);
        let scalars = Scalars::new(step, self.reached.skipped, self.run.learning_rate);
        let batch = Batch { data, samples };
        let part = |rows: usize| {
            let position = prepared.parts.iter().position(|part| part.rows == rows).unwrap_or(0);
            Loaded { training: &prepared.parts[position].training, program: programs.parts[position] }
        };
        let executor = &mut self.executor;
        let measured = match (&prepared.updates, programs.updates) {
            (Some(updates), Some(program)) => {
                let updates = LoadedUpdates { graph: &updates.graph, program };
                parts::step(executor, &prepared.sizes(), part, updates, scalars, batch)?
            }
            _ => engine::step(executor, part(samples.len()), scalars, batch)?,
        };
        let Measured { loss, accuracy, skipped } = measured;
        let parts = prepared.job.micro_batches;
        self.reached = self.reached.after(step, skipped, samples.len(), data.count());
        Ok(Progress { step, steps: self.run.steps, loss, accuracy, parts, skipped })
    }

    /// The share of samples that the model as trained so far predicts right: the largest of its predictions is the label.
    pub fn accuracy(&mut self, data: &dyn Samples) -> Result<f32, JobError> {
        let evaluation = &self.prepared[0].evaluation;
        let measured = engine::accuracy(&mut self.executor, self.steps[0].evaluation, evaluation, data);
        measured.map_err(|error| JobError::Step { step: self.run.steps, error })
    }

    /// The executor, for reading values.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn executor_mut(&mut self) -> &mut Executor {
        &mut self.executor
    }

    /// The training graph of a whole step, before anything is cut or computed again.
    pub(crate) fn whole_graph(&self) -> &Graph {
        &self.prepared[0].training.graph
    }

    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }

    pub(crate) fn seed(&self) -> u64 {
        self.run.seed
    }

    pub(crate) fn go_on(&mut self, reached: Reached, seed: u64) {
        self.reached = reached;
        self.run.seed = seed;
    }

    /// What a step runs; of the first length, where there are several.
    pub(crate) fn programs(&self) -> Vec<ProgramId> {
        self.steps[0].all()
    }

    /// The program of a training step or of its largest micro-batch; of the first length, where there are several.
    pub fn program(&self) -> ProgramId {
        self.steps[0].parts[0]
    }

    fn mark(&mut self, what: impl FnOnce(&mut Recorder, Duration)) {
        if let (Some(since), Some(recorder)) = (self.recorded_since, self.executor.recorder()) {
            what(recorder, since.elapsed());
        }
    }
}

/// What a job runs, as the executor has it.
struct Programs {
    /// In the order of the prepared parts.
    parts: Vec<ProgramId>,
    updates: Option<ProgramId>,
    evaluation: ProgramId,
}

impl Programs {
    /// The next programs are those of a prepared job, in the order of the plans in its arena.
    fn of(prepared: &Prepared, programs: &mut impl Iterator<Item = ProgramId>) -> Self {
        let mut next = || programs.next().expect("every plan is a program");
        let parts = prepared.parts.iter().map(|_| next()).collect();
        let updates = prepared.updates.as_ref().map(|_| next());
        Self { parts, updates, evaluation: next() }
    }

    /// What a step runs.
    fn all(&self) -> Vec<ProgramId> {
        self.parts.iter().copied().chain(self.updates).collect()
    }
}

impl Outcome {
    pub(crate) fn new(
        last: Progress,
        tested: Option<f32>,
        [planned_peak, measured_peak]: [Bytes; 2],
        pool: Option<PoolUse>,
        (steps, time): (u64, Duration),
    ) -> Self {
        Self {
            steps,
            skipped: 0,
            loss: last.loss,
            accuracy: tested.or(last.accuracy),
            on_test_samples: tested.is_some(),
            planned_peak,
            measured_peak,
            pool,
            peak_resident: process::peak_resident(),
            time,
        }
    }
}

/// For each plan in the arena of a prepared job, what must be finite: the losses.
fn watched(prepared: &Prepared) -> Vec<Vec<ValueId>> {
    let parts = prepared.parts.iter().map(|part| vec![part.training.loss]);
    let others = prepared.updates.iter().map(|_| Vec::new()).chain([Vec::new()]);
    parts.chain(others).collect()
}

/// What several plans take in one arena.
pub(crate) fn peak(prepared: &[Prepared]) -> Bytes {
    prepared.iter().map(Prepared::peak).max().unwrap_or_default()
}

/// Whose turn it is in a step.
pub(crate) fn turn(step: u64, count: usize) -> usize {
    (step.saturating_sub(1) % count as u64) as usize
}

/// Makes all steps of a run that are still to make, on shuffled samples; gives the last one and the time they took.
pub(crate) fn repeat(
    run: Run,
    reached: Reached,
    batch: usize,
    data: &Dataset,
    mut report: impl FnMut(Progress),
    mut make: impl FnMut(u64, &[usize]) -> Result<Progress, JobError>,
) -> Result<(Progress, Duration), JobError> {
    let count = data.train.count();
    let mut last =
        Progress { step: 0, steps: run.steps, loss: f32::NAN, accuracy: None, parts: 1, skipped: false };
    let start = Instant::now();
    let mut position = reached.position;
    for step in reached.step + 1..=run.steps {
        let drawn = position..position + batch as u64;
        position = drawn.end;
        let samples: Vec<usize> = drawn.map(|position| batches::sample(run.seed, position, count)).collect();
        last = make(step, &samples)?;
        report(last);
    }
    Ok((last, start.elapsed()))
}
