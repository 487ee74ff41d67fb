//! The ways of making a step, which must not make a difference: the whole batch, micro-batches, a tight budget, op by
//! op.

use crate::case::{Refused, at};
use plimsoll::data::InMemory;
use plimsoll::graph::Role;
use plimsoll::import::keras::Keras;
use plimsoll::memory::{AllocatorOptions, Device, by_name};
use plimsoll::state::Contents as _;
use plimsoll::{
    Bytes, EagerOptions, EagerTrainer, Exchange, Job, JobError, OnShortage, OpenedJob, Prepared, Run, Trainer,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of one way.
#[derive(Default, Serialize)]
pub struct Way {
    /// Why it could not be gone, if it could not.
    pub refused: Option<String>,
    /// Of each step, before its update.
    pub losses: Vec<f32>,
    /// By how much weights differ from those of the whole batch: the largest difference of each tensor, as a share of
    /// its largest element; the largest of all.
    pub difference: f32,
    /// The tensor where it is.
    pub tensor: String,
    /// Whether the peak was the planned one, where there is a plan.
    pub promise_kept: Option<bool>,
}

/// A trainer of the whole batch.
pub fn whole(opened: &OpenedJob, steps: u64) -> Result<Trainer, Refused> {
    let prepared = opened.job.prepare().map_err(at("plan"))?;
    trainer(opened, prepared, steps).map_err(at("plan"))
}

fn trainer(opened: &OpenedJob, prepared: Prepared, steps: u64) -> Result<Trainer, JobError> {
    let device = Device::host(prepared.peak());
    Trainer::new(prepared, &device, run(opened, steps))
}

fn run(opened: &OpenedJob, steps: u64) -> Run {
    let usual = opened.job.optimizer.default_learning_rate();
    Run { steps, learning_rate: opened.learning_rate.unwrap_or(usual), seed: 7, poison: true }
}

/// Goes the other ways as far as the whole one came.
pub fn compare(
    opened: &OpenedJob,
    keras: &Keras,
    samples: &InMemory,
    whole: &Trainer,
    ways: &mut BTreeMap<&'static str, Way>,
) -> Result<(), Refused> {
    let known = persistent(whole)?;
    let steps = whole.state().step;
    let mixes = opened.job.mixing().map_err(at("plan"))?.is_some();
    if !mixes && opened.job.batch > 1 {
        let job = Job { micro_batches: 2, ..opened.job.clone() };
        ways.insert("micro-batches", planned(opened, job.prepare(), keras, samples, steps, &known)?);
    }
    let peak = whole.prepared()[0].peak();
    let mut tight = [70, 85].into_iter().map(|share| opened.job.prepare_within(Bytes(peak.0 * share / 100)));
    if let Some(prepared) = tight.find(|prepared| !is_over_budget(prepared)) {
        ways.insert("tight", planned(opened, prepared, keras, samples, steps, &known)?);
    }
    ways.insert("eager", eager(opened, keras, samples, steps, &known)?);
    Ok(())
}

fn is_over_budget(prepared: &Result<Prepared, JobError>) -> bool {
    matches!(prepared, Err(JobError::OverBudget(_)))
}

fn planned(
    opened: &OpenedJob,
    prepared: Result<Prepared, JobError>,
    keras: &Keras,
    samples: &InMemory,
    steps: u64,
    known: &Persistent,
) -> Result<Way, Refused> {
    let mut trainer = match prepared.and_then(|prepared| trainer(opened, prepared, steps)) {
        Ok(trainer) => trainer,
        Err(error) => return Ok(Way { refused: Some(error.to_string()), ..Way::default() }),
    };
    trainer.read_model(keras, &opened.job.descent()).map_err(at("weights"))?;
    let data = trainer.bind(samples).map_err(at("data"))?;
    let order: Vec<usize> = (0..opened.job.batch).collect();
    let mut way = Way::default();
    for step in trainer.state().step + 1..=steps {
        way.losses.push(trainer.step(step, &data, &order).map_err(at("step"))?.loss);
    }
    // The evaluation belongs to what was planned.
    trainer.evaluate(samples).map_err(at("evaluate"))?;
    way.promise_kept = Some(trainer.executor().measured_peak() == trainer.prepared()[0].peak());
    way.differing(&persistent(&trainer)?, known)
}

fn eager(
    opened: &OpenedJob,
    keras: &Keras,
    samples: &InMemory,
    steps: u64,
    known: &Persistent,
) -> Result<Way, Refused> {
    let prepared = opened.job.prepare().map_err(at("plan"))?;
    let allocator = Box::new(|| by_name("bfc", &AllocatorOptions::default()).expect("it is TensorFlow's"));
    let options = EagerOptions { allocator, on_shortage: OnShortage::Stop };
    let device = Device::host(Bytes::mib(1024));
    let mut trainer =
        EagerTrainer::new(vec![prepared], &device, run(opened, steps), options).map_err(at("eager"))?;
    trainer.read_model(keras, &opened.job.descent()).map_err(at("weights"))?;
    let data = trainer.bind(samples).map_err(at("data"))?;
    let order: Vec<usize> = (0..opened.job.batch).collect();
    let mut way = Way::default();
    for step in trainer.state().step + 1..=steps {
        way.losses.push(trainer.step(step, &data, &order).map_err(at("step"))?.loss);
    }
    way.differing(&persistent(&trainer)?, known)
}

/// Weights by name.
type Persistent = BTreeMap<String, Vec<f32>>;

fn persistent(trainer: &impl Exchange) -> Result<Persistent, Refused> {
    let (state, values) = (trainer.state(), trainer.values());
    let mut read = BTreeMap::new();
    // What optimizers remember of gradients that are zero but for rounding has no scale to be judged by.
    let learned = |role: Role| matches!(role, Role::Parameter | Role::Statistic);
    for (position, tensor) in state.tensors.iter().enumerate().filter(|(_, tensor)| learned(tensor.role)) {
        let mut bytes = vec![0; 4 * tensor.tensor.shape.elements()];
        values.read(position, 0, &mut bytes).map_err(at("weights"))?;
        let each = bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        read.insert(tensor.name.clone(), each.collect());
    }
    Ok(read)
}

impl Way {
    fn differing(mut self, found: &Persistent, known: &Persistent) -> Result<Self, Refused> {
        for (name, known) in known {
            let found = found.get(name).ok_or(format!("`{name}` is lost")).map_err(at("weights"))?;
            let largest = known.iter().fold(1e-6f32, |largest, x| largest.max(x.abs()));
            let difference = known.iter().zip(found).map(|(a, b)| (a - b).abs()).fold(0.0, worse) / largest;
            if worse(difference, self.difference) != self.difference {
                (self.difference, self.tensor) = (difference, name.clone());
            }
        }
        Ok(self)
    }
}

/// The larger, where no number is larger than all.
fn worse(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::INFINITY } else { a.max(b) }
}
