//! A second backend needs nothing but the seam: the reference interpreter, on memory that no address leads to, trains
//! by the same plans and the same trainer as the CPU.

#[path = "second_backend/reference.rs"]
mod reference;

use plimsoll::data::{self, Wanted};
use plimsoll::exec::{Backend, BindError, CpuBackend, StepError};
use plimsoll::memory::Device;
use plimsoll::model::layer::Dense;
use plimsoll::model::{Builder, Model, zoo};
use plimsoll::{
    Bytes, EagerOptions, EagerTrainer, Job, JobError, OnShortage, Outcome, Prepared, Run, Trainer,
};
use reference::{Reference, cabinet};
use std::sync::Arc;

const RUN: Run = Run { steps: 80, learning_rate: 5e-3, seed: 7, poison: false };
const REFERENCE: Reference = Reference { page: Bytes(28 << 10) };

fn job(model: Model, batch: usize, backend: impl Backend) -> Job {
    Job { backend: Arc::new(backend), ..Job::new(model, batch) }
}

fn perceptron() -> Model {
    zoo::find("mlp@64").unwrap()
}

/// Enough layers that it pays to compute some of them again.
fn deep_perceptron() -> Model {
    let mut net = Builder::new("deep");
    let mut x = net.input([64]);
    for _ in 0..5 {
        x = net.push(Dense::new(32).relu(), &[x]);
    }
    let x = net.push(Dense::new(10).softmax(), &[x]);
    net.build(x)
}

/// The loss of every step, and what came of them.
fn train(prepared: &Prepared, device: &Device, run: Run) -> Result<(Vec<f32>, Outcome), JobError> {
    let data = data::open("digits", &Wanted::of(&prepared.training), run.seed)?;
    let mut losses = Vec::new();
    let mut trainer = Trainer::new(prepared.clone(), device, run)?;
    let outcome = trainer.train(&data, |progress| losses.push(progress.loss))?;
    Ok((losses, outcome))
}

/// Trains on both backends and compares. The one computes in float64 and the other in float32, so losses drift apart
/// slowly.
fn compare(reference: &Prepared, cpu: &Prepared, run: Run) -> Outcome {
    let (losses, outcome) = train(reference, &cabinet(reference.peak()), run).unwrap();
    let (wanted, expected) = train(cpu, &Device::host(cpu.peak()), run).unwrap();
    for (step, (found, wanted)) in losses.iter().zip(&wanted).enumerate() {
        let close = (found - wanted).abs() <= 2e-3 * wanted.abs().max(0.1);
        assert!(close, "step {step}: {found}, but {wanted} on the CPU");
    }
    assert_eq!((outcome.planned_peak, outcome.measured_peak), (reference.peak(), reference.peak()));
    let [found, wanted] = [&outcome, &expected].map(|outcome| outcome.accuracy().unwrap());
    assert!((found - wanted).abs() < 0.01, "{found}, but {wanted} on the CPU");
    outcome
}

#[test]
fn it_trains_digits() {
    let prepared = job(perceptron(), 32, REFERENCE).prepare().unwrap();
    assert_eq!(prepared.plan().alignment.bytes(), 256);
    assert!(prepared.plan().scratch.iter().all(Option::is_none), "its kernels take no scratch");
    let cpu = job(perceptron(), 32, CpuBackend::new(2)).prepare().unwrap();
    let outcome = compare(&prepared, &cpu, RUN);
    assert!(outcome.test.is_some() && outcome.accuracy().unwrap() > 0.9, "{:?}", outcome.accuracy());
}

#[test]
fn steps_in_parts_and_poisoned_memory_are_the_seams_too() {
    let job = |backend| Job { micro_batches: 3, ..job(perceptron(), 32, backend) };
    let prepared = job(REFERENCE).prepare().unwrap();
    let cpu = Job { backend: Arc::new(CpuBackend::new(1)), ..job(REFERENCE) }.prepare().unwrap();
    compare(&prepared, &cpu, Run { steps: 12, poison: true, ..RUN });
}

#[test]
fn values_are_computed_again_within_a_budget() {
    let reference = job(deep_perceptron(), 96, REFERENCE);
    let plain = reference.prepare().unwrap();
    let persistent = plain.plan().persistent;
    let budget = persistent + Bytes((plain.peak() - persistent).0 * 7 / 10);
    let fitted = reference.prepare_within(budget).unwrap();
    assert!(fitted.peak() <= budget && fitted.peak() < plain.peak());
    assert!(fitted.parts.iter().any(|part| part.again().count() > 0), "nothing is computed again");
    let run = Run { steps: 8, poison: true, ..RUN };
    let (losses, _) = train(&fitted, &cabinet(budget), run).unwrap();
    let (wanted, _) = train(&plain, &cabinet(plain.peak()), run).unwrap();
    if fitted.sizes().len() == 1 {
        assert_eq!(losses, wanted, "computing again changes no bit");
    }
    let cpu = job(deep_perceptron(), 96, CpuBackend::new(2)).prepare().unwrap();
    compare(&fitted, &cpu, run);
}

#[test]
fn it_finds_by_itself_what_is_not_finite() {
    let prepared = job(perceptron(), 32, REFERENCE).prepare().unwrap();
    let run = Run { learning_rate: 1e30, ..RUN };
    let error = train(&prepared, &cabinet(prepared.peak()), run).unwrap_err();
    let JobError::NotFinite { step, first: StepError::NotFinite { value, .. } } = &error else {
        panic!("{error}")
    };
    assert!(*step <= 3 && !value.is_empty(), "{error}");
}

#[test]
fn what_belongs_to_another_device_is_refused() {
    let prepared = |backend: CpuBackend| job(perceptron(), 32, backend).prepare().unwrap();
    let cpu = prepared(CpuBackend::new(1));
    let Err(error) = Trainer::new(cpu.clone(), &cabinet(cpu.peak()), RUN) else {
        panic!("no addresses there")
    };
    assert!(
        matches!(&error, JobError::Bind(bind) if matches!(**bind, BindError::OtherDevice { .. })),
        "{error}"
    );

    let foreign = Prepared { job: job(perceptron(), 32, REFERENCE), ..cpu.clone() };
    let Err(error) = Trainer::new(foreign, &cabinet(cpu.peak()), RUN) else { panic!("a plan for the CPU") };
    assert!(
        matches!(&error, JobError::Bind(bind) if matches!(**bind, BindError::OtherTarget { .. })),
        "{error}"
    );

    let eager = |prepared: Prepared, device: &Device| {
        let make = || plimsoll::memory::by_name("bfc", &Default::default()).unwrap();
        let options = EagerOptions { allocator: Box::new(make), on_shortage: OnShortage::Stop };
        EagerTrainer::new(vec![prepared], device, RUN, options).err().expect("eager mode is the CPU's")
    };
    let error = eager(cpu, &cabinet(Bytes::mib(8)));
    assert!(
        matches!(&error, JobError::Bind(bind) if matches!(**bind, BindError::OtherDevice { .. })),
        "{error}"
    );
    let reference = job(perceptron(), 32, REFERENCE).prepare().unwrap();
    let error = eager(reference, &Device::host(Bytes::mib(8)));
    assert!(matches!(&error, JobError::NotEager { .. }), "{error}");
}
