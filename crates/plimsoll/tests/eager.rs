//! Eager training runs: the same numbers as planned ones, steps in parts that equal whole ones, lengths that take
//! turns.

use plimsoll::data::{self, Dataset, Wanted};
use plimsoll::exec::StepError;
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::model::layer::{Dense, GlobalPooling};
use plimsoll::model::{Builder, Model, zoo};
use plimsoll::train::Optimizer;
use plimsoll::{
    Bytes, EagerOptions, EagerTrainer, Job, JobError, OnShortage, Outcome, Prepared, Run, Trainer,
};

const PLENTY: Bytes = Bytes::mib(512);

fn job(spec: &str, batch: usize, optimizer: &str) -> Job {
    let optimizer = Optimizer::parse(optimizer).unwrap();
    Job { optimizer, ..Job::new(zoo::find(spec).unwrap(), batch).on_threads(2) }
}

fn run(steps: u64, learning_rate: f32) -> Run {
    Run { steps, learning_rate, seed: 3, poison: true }
}

fn samples(prepared: &Prepared) -> Dataset {
    data::open("synthetic", &Wanted::of(&prepared.training), 3).unwrap()
}

fn options(growth: bool, on_shortage: OnShortage) -> EagerOptions {
    let make = move || Box::new(Bfc::new(BfcOptions { growth, ..BfcOptions::default() })) as _;
    EagerOptions { allocator: Box::new(make), on_shortage }
}

struct Trained {
    outcome: Outcome,
    losses: Vec<f32>,
    weights: Vec<f32>,
    exact: bool,
}

fn eager(
    prepared: &[Prepared],
    limit: Bytes,
    run: Run,
    growth: bool,
    on_shortage: OnShortage,
) -> Result<Trained, JobError> {
    let data = samples(&prepared[0]);
    let device = Device::host(limit);
    let mut trainer = EagerTrainer::new(prepared.to_vec(), &device, run, options(growth, on_shortage))?;
    let mut losses = Vec::new();
    let outcome = trainer.train(&data, |progress| losses.push(progress.loss))?;
    let graph = &prepared[0].training.graph;
    let weights = graph.persistents().flat_map(|id| trainer.eager().f32(trainer.program(), id).to_vec());
    Ok(Trained { outcome, losses, weights: weights.collect(), exact: trainer.mixing().is_none() })
}

fn planned(prepared: &[Prepared], run: Run) -> (Outcome, Vec<f32>) {
    let data = samples(&prepared[0]);
    let mut trainer = Trainer::with_lengths(prepared.to_vec(), &Device::host(PLENTY), run).unwrap();
    let mut losses = Vec::new();
    let outcome = trainer.train(&data, |progress| losses.push(progress.loss)).unwrap();
    (outcome, losses)
}

/// A limit at which a whole step does not fit, but parts do.
fn too_little(whole: &Trained) -> Bytes {
    let pool = whole.outcome.pool.unwrap();
    Bytes(pool.peak_in_use.0 * 3 / 4)
}

#[test]
fn steps_in_parts_are_whole_steps() {
    let cases = [
        ("cnn@24,channels=2", 22, "sgd", 0.05),
        ("cnn@24,channels=2", 20, "momentum", 0.02),
        ("cnn@24,channels=2", 23, "adam", 0.001),
        ("lstm@64,vocab=30", 9, "sgd", 0.05),
    ];
    for (spec, batch, optimizer, learning_rate) in cases {
        let prepared = [job(spec, batch, optimizer).prepare().unwrap()];
        let run = run(3, learning_rate);
        let whole = eager(&prepared, PLENTY, run, false, OnShortage::Stop).unwrap();
        let limit = too_little(&whole);
        let stopped = eager(&prepared, limit, run, false, OnShortage::Stop).err().expect("too little");
        let out_of_memory = matches!(stopped, JobError::Step { step: 1, error: StepError::OutOfMemory(_) });
        assert!(out_of_memory && stopped.hint().is_some(), "{spec} {optimizer}: {stopped}");
        let parts = eager(&prepared, limit, run, false, OnShortage::Shrink).unwrap();
        let pool = parts.outcome.pool.unwrap();
        assert_eq!(pool.shrunk_steps, 3, "{spec} {optimizer}");
        assert!(parts.exact && pool.peak_reserved <= limit);
        for (step, (a, b)) in whole.losses.iter().zip(&parts.losses).enumerate() {
            assert!((a - b).abs() <= 1e-5 * a.abs(), "{spec} {optimizer}: loss {b}, not {a}, in step {step}");
        }
        assert_close(&whole.weights, &parts.weights, learning_rate, &format!("{spec} {optimizer}"));
    }
}

/// Weights and slots agree to a small part of what one step with a gradient of 1 changes.
fn assert_close(wanted: &[f32], found: &[f32], learning_rate: f32, what: &str) {
    let worst = wanted.iter().zip(found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= 2e-4 * learning_rate.max(0.01), "{what}: weights differ by {worst}");
    assert_eq!(wanted.len(), found.len());
}

#[test]
fn batch_statistics_are_not_the_same_in_parts() {
    let prepared = [job("resnet20@16", 8, "sgd").prepare().unwrap()];
    let whole = eager(&prepared, PLENTY, run(1, 0.01), false, OnShortage::Stop).unwrap();
    let parts = eager(&prepared, too_little(&whole), run(1, 0.01), false, OnShortage::Shrink).unwrap();
    assert!(!parts.exact && parts.losses[0].is_finite());
}

#[test]
fn a_batch_of_one_that_does_not_fit_is_an_error() {
    let prepared = [job("cnn@12,channels=2", 2, "adam").prepare().unwrap()];
    let whole = eager(&prepared, PLENTY, run(1, 0.01), false, OnShortage::Stop).unwrap();
    let limit = Bytes(whole.outcome.pool.unwrap().peak_in_use.0 * 4 / 5);
    let error = eager(&prepared, limit, run(1, 0.01), false, OnShortage::Shrink).err().expect("too little");
    assert!(error.to_string().contains("out of memory"), "{error}");
}

#[test]
fn lengths_take_turns_and_both_modes_give_the_same_losses() {
    let prepared = job("lstm@64,vocab=50", 4, "adam").prepare_lengths(&[16, 64, 23, 40], None).unwrap();
    let (graph, losses) = planned(&prepared, run(8, 0.001));
    let eager = eager(&prepared, PLENTY, run(8, 0.001), true, OnShortage::Stop).unwrap();
    let bits = |losses: &[f32]| losses.iter().map(|loss| loss.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&losses), bits(&eager.losses));
    let longest = prepared.iter().map(Prepared::peak).max().unwrap();
    assert_eq!((graph.planned_peak, graph.measured_peak, graph.pool), (longest, longest, None));
    let pool = eager.outcome.pool.unwrap();
    assert_eq!(eager.outcome.planned_peak, longest);
    assert!(pool.peak_reserved >= pool.peak_in_use && pool.peak_in_use > longest, "{pool:?}");
    assert!(pool.worst_fragmentation > 0.0);
}

#[test]
fn only_sequences_have_a_length() {
    let error = job("cnn@8", 2, "sgd").prepare_lengths(&[4], None).unwrap_err();
    assert!(matches!(error, JobError::NoLength { .. }), "{error}");
    let (lengths, budget) = ([16, 400], Some(Bytes::mib(4)));
    let error = job("lstm@16,vocab=50", 4, "sgd").prepare_lengths(&lengths, budget).unwrap_err();
    assert!(matches!(error, JobError::OverBudget(_)), "the longest decides: {error}");
}

/// The mean over all positions, then a dense layer: the input is by far the largest value.
fn mean_model(length: usize) -> Model {
    let mut net = Builder::new("mean");
    let x = net.input([length, 64]);
    let x = net.add("mean", GlobalPooling::average(), &[x]);
    let x = net.push(Dense::new(10).softmax(), &[x]);
    net.build(x)
}

/// Growing inputs make TensorFlow's allocator reserve regions of 2, 4 and 8 MiB; then there are 9 MiB to be had, but
/// not in one piece.
#[test]
fn a_run_goes_on_after_a_compaction() {
    let lengths = [800, 1600, 2400, 4608];
    let prepare = |length: usize| Job::new(mean_model(length), 8).prepare().unwrap();
    let prepared: Vec<Prepared> = lengths.map(prepare).to_vec();
    let (run, limit) = (run(4, 0.01), Bytes::mib(20));
    let stopped = eager(&prepared, limit, run, true, OnShortage::Stop).err().expect("it is in pieces");
    let JobError::Step { step: 4, error: StepError::OutOfMemory(shortage) } = stopped else {
        panic!("{stopped}")
    };
    assert!(shortage.is_fragmentation(), "{shortage}");
    let compacted = eager(&prepared, limit, run, true, OnShortage::Compact).unwrap();
    assert_eq!(compacted.outcome.pool.unwrap().compactions, 1);
    let whole = eager(&prepared, PLENTY, run, true, OnShortage::Stop).unwrap();
    assert_eq!((whole.losses, whole.weights), (compacted.losses, compacted.weights));
}
