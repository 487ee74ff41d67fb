//! The training loop.

use crate::data::{Bound, DataError, Dataset, Samples, Wanted};
use crate::engine::{self, Batch, Loaded, Measured, Scalars};
use crate::exchange::Reached;
use crate::micro_batches::{self, LoadedUpdates};
use crate::{Bytes, HeadScore, JobError, PoolUse, Prepared, Scores};
use plimsoll_exec::{Executor, ProgramId, RunSettings};
use plimsoll_graph::{Graph, ValueId};
use plimsoll_input::order;
use plimsoll_memory::{Device, process};
use plimsoll_plan::VerifiedArena;
use plimsoll_trace::Recorder;
use std::sync::Arc;
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
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps to do.
    pub steps: u64,
    /// The loss of this step.
    pub loss: f32,
    /// What each head says about this batch.
    pub heads: Vec<HeadScore>,
    /// In how many parts the step was made.
    pub parts: usize,
    /// Whether it changed nothing, because its loss or a gradient was not finite; only for jobs that skip such steps.
    pub skipped: bool,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Steps done in this run.
    pub steps: u64,
    /// How many of them changed nothing, because something was not finite.
    pub skipped: u64,
    /// What the last step said about its batch.
    pub last: Scores,
    /// What the model says about samples that were not learned from, where there are such.
    pub test: Option<Scores>,
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
    /// What samples must have.
    wanted: Demand,
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

    /// The same for several lengths, which the steps go through in turn. They come from
    /// [`crate::Job::prepare_lengths`], so that all plans have the weights in the same places.
    ///
    /// # Panics
    /// If there is none.
    pub fn with_lengths(prepared: Vec<Prepared>, device: &Device, run: Run) -> Result<Self, JobError> {
        let job = &prepared[0].job;
        let settings = RunSettings { poison: run.poison, record: false };
        let arena = VerifiedArena::join(prepared.iter().map(|one| &one.arena))?;
        let watched: Vec<Vec<ValueId>> = prepared.iter().flat_map(watched).collect();
        let mut executor = Executor::new(&*job.backend, arena, &watched, device, &job.model.name, settings)?;
        let mut programs = executor.programs();
        let steps: Vec<Programs> = prepared.iter().map(|one| Programs::of(one, &mut programs)).collect();
        engine::fill_persistent(&mut executor, &prepared[0].training.graph, &steps[0].all(), run.seed);
        let wanted = Demand::of(&prepared);
        Ok(Self { prepared, executor, steps, wanted, run, reached: Reached::default(), recorded_since: None })
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
        let (train, test) = self.wanted.bind_all(data)?;
        let make = |step, samples: &[usize]| self.step(step, &train, samples);
        let (last, time) = repeat(run, reached, batch, &train, report, make)?;
        self.mark(|recorder, elapsed| recorder.clock(elapsed));
        let tested = test.map(|test| self.judge(&test)).transpose()?;
        let planned_peak = peak_between(&self.prepared, reached.step, run.steps);
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

    /// Finds in samples what steps are written with, or says what is missing.
    pub fn bind<'a>(&self, data: &'a dyn Samples) -> Result<Bound<'a>, JobError> {
        self.wanted.bind(data)
    }

    /// One step on the given samples: as many as were planned.
    pub fn step(&mut self, step: u64, data: &Bound<'_>, samples: &[usize]) -> Result<Progress, JobError> {
        data.check(&self.wanted.training, self.prepared[0].job.batch, samples)?;
        self.mark(|recorder, elapsed| recorder.step(step, elapsed));
        let variant = turn(step, self.steps.len());
        let (prepared, programs) = (&self.prepared[variant], &self.steps[variant]);
        let scalars = Scalars::new(step, self.reached, &self.run, &prepared.job.settings);
        let batch = Batch { data, position: self.reached.position, samples };
        let part = |rows: usize| {
            let position = prepared.parts.iter().position(|part| part.rows == rows).unwrap_or(0);
            Loaded { training: &prepared.parts[position].training, program: programs.parts[position] }
        };
        let executor = &mut self.executor;
        let measured = match (&prepared.updates, programs.updates) {
            (Some(updates), Some(program)) => {
                let updates = LoadedUpdates { graph: &updates.graph, program };
                micro_batches::step(executor, &prepared.sizes(), part, updates, scalars, batch)?
            }
            _ => engine::step(executor, part(samples.len()), scalars, batch)?,
        };
        self.reached = self.reached.after(step, measured.skipped, samples.len(), data.count());
        Ok(Progress::new(step, self.run, measured, prepared.job.micro_batches))
    }

    /// What the model as trained so far says about samples.
    pub fn evaluate(&mut self, data: &dyn Samples) -> Result<Scores, JobError> {
        let data = self.wanted.evaluation.bind(data)?;
        self.judge(&data)
    }

    /// What is trained, one for each length of samples.
    pub fn prepared(&self) -> &[Prepared] {
        &self.prepared
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

    /// What a step runs; of the first length, where there are several.
    pub(crate) fn programs(&self) -> Vec<ProgramId> {
        self.steps[0].all()
    }

    /// The program of a training step or of its largest micro-batch; of the first length, where there are several.
    pub fn program(&self) -> ProgramId {
        self.steps[0].parts[0]
    }

    fn judge(&mut self, data: &Bound<'_>) -> Result<Scores, JobError> {
        self.reached.check_average(&self.prepared[0].job.settings)?;
        self.mark(|recorder, elapsed| recorder.evaluation(elapsed));
        let evaluation = &self.prepared[0].evaluation;
        let program = self.steps[0].evaluation.expect("the first length has an evaluation");
        engine::evaluate(&mut self.executor, program, evaluation, data, self.run.steps)
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
    /// Of the first length only.
    evaluation: Option<ProgramId>,
}

impl Programs {
    /// The next programs are those of a prepared job, in the order of the plans in its arena.
    fn of(prepared: &Prepared, programs: &mut impl Iterator<Item = ProgramId>) -> Self {
        let mut next = || programs.next().expect("every plan is a program");
        let parts = prepared.parts.iter().map(|_| next()).collect();
        let updates = prepared.updates.as_ref().map(|_| next());
        Self { parts, updates, evaluation: prepared.has_evaluation().then(next) }
    }

    /// What a step runs.
    fn all(&self) -> Vec<ProgramId> {
        self.parts.iter().copied().chain(self.updates).collect()
    }
}

/// What a job's samples must have.
pub(crate) struct Demand {
    pub(crate) training: Arc<Wanted>,
    pub(crate) evaluation: Arc<Wanted>,
    /// Samples of other lengths, where there are several.
    lengths: Vec<Arc<Wanted>>,
}

impl Demand {
    pub(crate) fn of(prepared: &[Prepared]) -> Self {
        let training = |one: &Prepared| Arc::new(Wanted::of(&one.training));
        Self {
            training: training(&prepared[0]),
            evaluation: Arc::new(Wanted::of_evaluation(&prepared[0].evaluation.judging)),
            lengths: prepared[1..].iter().map(training).collect(),
        }
    }

    pub(crate) fn bind<'a>(&self, data: &'a dyn Samples) -> Result<Bound<'a>, JobError> {
        for length in &self.lengths {
            length.bind(data)?;
        }
        Ok(self.training.bind(data)?)
    }

    /// Both parts of a data set, before the first step.
    pub(crate) fn bind_all<'a>(&self, data: &'a Dataset) -> Result<(Bound<'a>, Option<Bound<'a>>), JobError> {
        let test = data.test.as_deref().map(|test| self.evaluation.bind(test)).transpose()?;
        Ok((self.bind(&*data.train)?, test))
    }
}

impl Progress {
    pub(crate) fn new(step: u64, run: Run, measured: Measured, parts: usize) -> Self {
        let Measured { scores: Scores { loss, heads }, skipped } = measured;
        Self { step, steps: run.steps, loss, heads, parts, skipped }
    }
}

impl Outcome {
    /// The accuracy of the first head that has one: on test samples, or on the last batch where there are none.
    pub fn accuracy(&self) -> Option<f32> {
        self.test.as_ref().unwrap_or(&self.last).accuracy()
    }

    pub(crate) fn new(
        last: Progress,
        test: Option<Scores>,
        [planned_peak, measured_peak]: [Bytes; 2],
        pool: Option<PoolUse>,
        (steps, time): (u64, Duration),
    ) -> Self {
        Self {
            steps,
            skipped: 0,
            last: Scores { loss: last.loss, heads: last.heads },
            test,
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
    let evaluation = prepared.has_evaluation().then(Vec::new);
    let others = prepared.updates.iter().map(|_| Vec::new()).chain(evaluation);
    parts.chain(others).collect()
}

/// What several plans take in one arena.
pub(crate) fn peak(prepared: &[Prepared]) -> Bytes {
    prepared.iter().map(Prepared::peak).max().unwrap_or_default()
}

/// What is planned for the steps after `made` up to `steps`: lengths whose turn does not come show no peak.
pub(crate) fn peak_between(prepared: &[Prepared], made: u64, steps: u64) -> Bytes {
    let turns = (made..steps).take(prepared.len()).map(|made| turn(made + 1, prepared.len()));
    turns.map(|turn| prepared[turn].peak()).max().unwrap_or(prepared[0].peak())
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
    data: &Bound<'_>,
    mut report: impl FnMut(Progress),
    mut make: impl FnMut(u64, &[usize]) -> Result<Progress, JobError>,
) -> Result<(Progress, Duration), JobError> {
    let count = data.count();
    if count < batch {
        return Err(DataError::TooFew { batch, samples: count }.into());
    }
    let mut last = None;
    let start = Instant::now();
    let mut position = reached.position;
    let left = run.steps.saturating_sub(reached.step) * batch as u64;
    data.announce(Some(run.seed), position..position + left);
    for step in reached.step + 1..=run.steps {
        let drawn = position..position + batch as u64;
        position = drawn.end;
        let samples: Vec<usize> = drawn.map(|position| order::sample(run.seed, position, count)).collect();
        let progress = make(step, &samples)?;
        report(progress.clone());
        last = Some(progress);
    }
    let time = start.elapsed();
    data.rest();
    Ok((last.ok_or(JobError::NoSteps)?, time))
}
