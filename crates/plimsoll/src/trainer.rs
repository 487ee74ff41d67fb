//! The training loop.

use crate::batches::Batches;
use crate::data::{Dataset, Elements, Samples};
use crate::{Bytes, JobError, Prepared, init};
use plimsoll_exec::{Executor, ProgramId, Settings, StepError};
use plimsoll_graph::{ElementType, Source, ValueId};
use plimsoll_memory::{Device, process};
use std::time::{Duration, Instant};

/// How long and how to train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// How many steps.
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
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Steps done.
    pub steps: u64,
    /// The loss of the last step.
    pub loss: f32,
    /// The share of the test samples (of the last batch, where there are none) that is predicted right.
    pub accuracy: Option<f32>,
    /// Whether the accuracy was measured on samples that were not learned from.
    pub on_test_samples: bool,
    /// What the plan promised.
    pub planned_peak: Bytes,
    /// The end of the highest buffer that was used.
    pub measured_peak: Bytes,
    /// The most memory the whole process has had.
    pub peak_resident: Option<Bytes>,
    /// The time all steps took.
    pub time: Duration,
}

/// Trains one job on one device.
pub struct Trainer {
    prepared: Prepared,
    executor: Executor,
    step: ProgramId,
    evaluation: ProgramId,
    run: Run,
}

impl Trainer {
    /// Maps the arena and fills in the first weights.
    pub fn new(prepared: Prepared, device: &Device, run: Run) -> Result<Self, JobError> {
        let settings = Settings { threads: prepared.job.threads, poison: run.poison, record: false };
        let mut executor = Executor::new(device, &prepared.job.model.name, prepared.peak(), settings)?;
        let step = executor.load(prepared.step.clone(), &[prepared.training.loss]);
        let evaluation = executor.load(prepared.evaluation.plan.clone(), &[]);
        let mut trainer = Self { prepared, executor, step, evaluation, run };
        trainer.fill_persistent();
        Ok(trainer)
    }

    /// Trains, telling the caller after each step where it is, and judges the result.
    pub fn train(&mut self, data: &Dataset, mut report: impl FnMut(Progress)) -> Result<Outcome, JobError> {
        let mut batches = Batches::new(data.train.count(), self.run.seed);
        let mut last = Progress { step: 0, steps: self.run.steps, loss: f32::NAN, accuracy: None };
        let start = Instant::now();
        for step in 1..=self.run.steps {
            let samples: Vec<usize> = (0..self.prepared.job.batch).map(|_| batches.next_sample()).collect();
            last = self.step(step, &*data.train, &samples)?;
            report(last);
        }
        let time = start.elapsed();
        let tested = data.test.as_deref().map(|test| self.accuracy(test)).transpose()?;
        let outcome = Outcome {
            steps: self.run.steps,
            loss: last.loss,
            accuracy: tested.or(last.accuracy),
            on_test_samples: tested.is_some(),
            planned_peak: self.prepared.peak(),
            measured_peak: self.executor.measured_peak(),
            peak_resident: process::peak_resident(),
            time,
        };
        match outcome.measured_peak == outcome.planned_peak {
            true => Ok(outcome),
            false => Err(JobError::BrokenPromise {
                planned: outcome.planned_peak,
                measured: outcome.measured_peak,
            }),
        }
    }

    /// One step on the given samples.
    pub fn step(&mut self, step: u64, data: &dyn Samples, samples: &[usize]) -> Result<Progress, JobError> {
        self.write_batch(step, data, samples);
        if let Err(error) = self.executor.run(self.step) {
            return Err(self.explain(step, error, data, samples));
        }
        let scalar = |value: ValueId| self.executor.f32(self.step, value)[0];
        let training = &self.prepared.training;
        let (loss, accuracy) = (scalar(training.loss), training.accuracy.map(scalar));
        Ok(Progress { step, steps: self.run.steps, loss, accuracy })
    }

    /// The share of samples that the model as trained so far predicts right: the largest of its predictions is the label.
    pub fn accuracy(&mut self, data: &dyn Samples) -> Result<f32, JobError> {
        let (batch, input) = (self.prepared.evaluation.batch, self.prepared.evaluation.input);
        let predictions = self.prepared.evaluation.predictions;
        let mut right = 0;
        for first in (0..data.count()).step_by(batch) {
            for row in 0..batch {
                // The last batch is filled up with its first samples, which are not counted again.
                let index = if first + row < data.count() { first + row } else { first };
                write_sample(&mut self.executor, self.evaluation, input, row, batch, |into| {
                    data.write_input(index, into)
                });
            }
            let run = self.executor.run(self.evaluation);
            run.map_err(|error| JobError::Step { step: self.run.steps, error })?;
            let rows = self.executor.f32(self.evaluation, predictions).chunks_exact(self.classes());
            let truth = (first..data.count()).map(|index| label(data, index));
            right += rows.zip(truth).filter(|(row, label)| largest(row) == *label).count();
        }
        Ok(right as f32 / data.count() as f32)
    }

    /// The executor, for reading values.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The program of a training step.
    pub fn program(&self) -> ProgramId {
        self.step
    }

    fn classes(&self) -> usize {
        self.prepared.step.graph().tensor(self.prepared.training.predictions).shape.last()
    }

    fn fill_persistent(&mut self) {
        let graph = self.prepared.step.graph();
        for (stream, id) in graph.persistents().enumerate() {
            let value = graph.value(id);
            let Source::Persistent(init) = value.source else { continue };
            match value.tensor.element {
                ElementType::F32 => {
                    let into = self.executor.f32_mut(self.step, id);
                    init::fill(init, &value.tensor.shape, self.run.seed, stream as u64, into);
                }
                ElementType::I32 => self.executor.i32_mut(self.step, id).fill(0),
                ElementType::F16 | ElementType::Bf16 => unreachable!("weights are kept in float32"),
            }
        }
    }

    fn write_batch(&mut self, step: u64, data: &dyn Samples, samples: &[usize]) {
        let training = &self.prepared.training;
        let batch = samples.len();
        self.executor.i32_mut(self.step, training.step).fill(step as i32);
        self.executor.f32_mut(self.step, training.learning_rate).fill(self.run.learning_rate);
        for (row, &index) in samples.iter().enumerate() {
            let (input, targets) = (training.input, training.targets);
            write_sample(&mut self.executor, self.step, input, row, batch, |into| {
                data.write_input(index, into)
            });
            write_sample(&mut self.executor, self.step, targets, row, batch, |into| {
                data.write_target(index, into)
            });
        }
    }

    /// Finds what first went wrong in a step whose loss or gradient was not finite.
    fn explain(&mut self, step: u64, error: StepError, data: &dyn Samples, samples: &[usize]) -> JobError {
        if !matches!(error, StepError::NotFinite { .. }) {
            return JobError::Step { step, error };
        }
        self.write_batch(step, data, samples);
        let first = self.executor.find_non_finite(self.step).err().unwrap_or(error);
        JobError::NotFinite { step, first }
    }
}

/// Lets a sample be written into its row of a batch.
fn write_sample(
    executor: &mut Executor,
    program: ProgramId,
    value: ValueId,
    row: usize,
    batch: usize,
    write: impl FnOnce(Elements<'_>),
) {
    let tensor = executor.graph(program).tensor(value);
    let length = tensor.shape.elements() / batch;
    match tensor.element {
        ElementType::I32 => {
            write(Elements::I32(&mut executor.i32_mut(program, value)[row * length..][..length]))
        }
        _ => write(Elements::F32(&mut executor.f32_mut(program, value)[row * length..][..length])),
    }
}

fn label(data: &dyn Samples, index: usize) -> usize {
    let mut label = [0];
    data.write_target(index, Elements::I32(&mut label));
    label[0] as usize
}

fn largest(row: &[f32]) -> usize {
    (0..row.len()).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
}
