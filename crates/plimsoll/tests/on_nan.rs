//! Steps that are skipped: a sample that is not a number changes nothing, and the run goes on as if its step had not
//! been.

use plimsoll::data::{self, Dataset, InMemory, Wanted};
use plimsoll::memory::{Bfc, BfcOptions, Device};
use plimsoll::model::layer::{BatchNormalization, Dense};
use plimsoll::model::{Builder, Model, zoo};
use plimsoll::train::Optimizer;
use plimsoll::{Bytes, EagerOptions, EagerTrainer, Job, JobError, OnNan, OnShortage, PlanFile, Run, Trainer};

const BATCH: usize = 6;
const FEATURES: usize = 5;

/// Samples of which one is not a number.
fn spoilt(which: usize) -> InMemory {
    const COUNT: usize = 60;
    let mut features: Vec<f32> = (0..COUNT * FEATURES).map(|i| (i as f32 * 12.9898).sin()).collect();
    features[which * FEATURES + 1] = f32::NAN;
    let classes: Vec<i32> = (0..COUNT as i32).map(|i| i % 3).collect();
    InMemory::new().input("x", [FEATURES], features).unwrap().target("head", [], classes).unwrap()
}

fn model() -> Model {
    let mut net = Builder::new("net");
    let x = net.input([FEATURES]);
    let x = net.add("hidden", Dense::new(8).relu(), &[x]);
    let x = net.add("norm", BatchNormalization::default(), &[x]);
    let x = net.add("head", Dense::new(3).softmax(), &[x]);
    net.build(x)
}

fn job(optimizer: Optimizer, micro_batches: usize, on_nan: OnNan) -> Job {
    Job { optimizer, micro_batches, on_nan, ..Job::new(model(), BATCH).on_threads(2) }
}

fn run(steps: u64) -> Run {
    Run { steps, learning_rate: 0.05, seed: 1, poison: true }
}

/// The samples of a step: those of the third have number 13 among them.
fn samples(step: u64) -> Vec<usize> {
    (0..BATCH).map(|row| (step as usize - 1) * BATCH + row).collect()
}

/// Everything that lives across steps, by name.
fn kept(trainer: &Trainer, job: &Job) -> Vec<(String, Vec<u32>)> {
    let prepared = job.prepare().unwrap();
    let graph = prepared.step().graph();
    let mut kept: Vec<_> = graph
        .persistents()
        .filter(|&id| graph.value(id).role != plimsoll::graph::Role::Accumulator)
        .map(|id| {
            let bits =
                trainer.executor().read_f32(trainer.program(), id).iter().map(|x| x.to_bits()).collect();
            (graph.value(id).name.clone(), bits)
        })
        .collect();
    kept.sort();
    kept
}

#[test]
fn a_skipped_step_leaves_everything_as_it_was_to_the_bit() {
    for optimizer in Optimizer::DEFAULTS {
        let job = job(optimizer, 1, OnNan::Skip);
        let prepared = job.prepare().unwrap();
        let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run(4)).unwrap();
        let data = spoilt(13);
        let data = trainer.bind(&data).unwrap();
        for step in 1..=2 {
            assert!(!trainer.step(step, &data, &samples(step)).unwrap().skipped);
        }
        let before = kept(&trainer, &job);
        assert!(trainer.step(3, &data, &samples(3)).unwrap().skipped);
        assert_eq!(kept(&trainer, &job), before, "{optimizer}");
        let after = trainer.step(4, &data, &samples(4)).unwrap();
        assert!(!after.skipped && after.loss.is_finite());
        assert_ne!(kept(&trainer, &job), before);
    }
}

/// Losses of a run that skips a step, and of one that never had it: Adam counts the updates that were made.
#[test]
fn later_steps_are_those_of_a_run_without_the_skipped_one() {
    for optimizer in Optimizer::DEFAULTS {
        for micro_batches in [1, 2] {
            let job = job(optimizer, micro_batches, OnNan::Skip);
            let prepared = job.prepare().unwrap();
            let train = |steps: [(u64, u64); 3], skipped: Option<u64>| {
                let mut trainer =
                    Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run(4)).unwrap();
                let (data, mut losses) = (spoilt(13), Vec::new());
                let data = trainer.bind(&data).unwrap();
                for (step, of) in steps {
                    losses.push(trainer.step(step, &data, &samples(of)).unwrap().loss);
                    if skipped == Some(step) {
                        assert!(trainer.step(step + 1, &data, &samples(3)).unwrap().skipped);
                    }
                }
                losses
            };
            // The number of the step decides about nothing here: there is no dropout.
            let skipping = train([(1, 1), (2, 2), (4, 4)], Some(2));
            let without = train([(1, 1), (2, 2), (3, 4)], None);
            // A part that was sound has moved the averages, which training does not read.
            assert_eq!(skipping, without, "{optimizer} in {micro_batches}");
        }
    }
}

#[test]
fn runs_count_what_they_skip_at_the_planned_peak_and_stop_if_nobody_asked() {
    let adam = Optimizer::parse("adam").unwrap();
    let data = || Dataset::new("spoilt", spoilt(7), None::<InMemory>);
    for micro_batches in [1, 3] {
        let skip = job(adam, micro_batches, OnNan::Skip).prepare().unwrap();
        let mut trainer = Trainer::new(skip.clone(), &Device::host(skip.peak()), run(20)).unwrap();
        let outcome = trainer.train(&data(), |_| {}).unwrap();
        // 60 samples in batches of 6: the bad one comes once in ten steps.
        assert_eq!((outcome.skipped, outcome.measured_peak), (2, skip.peak()), "{micro_batches}");

        let stop = job(adam, micro_batches, OnNan::Stop).prepare().unwrap();
        assert!(stop.peak() <= skip.peak(), "a gate costs, nothing else does");
        let mut trainer = Trainer::new(stop.clone(), &Device::host(stop.peak()), run(20)).unwrap();
        assert!(matches!(trainer.train(&data(), |_| {}), Err(JobError::NotFinite { .. })));
    }
}

#[test]
fn eager_steps_are_skipped_as_planned_ones_are() {
    let adam = Optimizer::parse("adam").unwrap();
    let data = Dataset::new("spoilt", spoilt(7), None::<InMemory>);
    let prepared = job(adam, 1, OnNan::Skip).prepare().unwrap();
    let mut planned = Vec::new();
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run(12)).unwrap();
    trainer.train(&data, |progress| planned.push((progress.loss.to_bits(), progress.skipped))).unwrap();
    let allocator = || Box::new(Bfc::new(BfcOptions::default())) as _;
    let options = EagerOptions { allocator: Box::new(allocator), on_shortage: OnShortage::Stop };
    let mut eager = Vec::new();
    let mut trainer =
        EagerTrainer::new(vec![prepared], &Device::host(Bytes::mib(64)), run(12), options).unwrap();
    let outcome =
        trainer.train(&data, |progress| eager.push((progress.loss.to_bits(), progress.skipped))).unwrap();
    assert_eq!(eager, planned);
    assert_eq!(outcome.skipped, eager.iter().filter(|(_, skipped)| *skipped).count() as u64);
    assert!(outcome.skipped >= 1);
}

#[test]
fn what_can_be_skipped_fits_a_budget_too() {
    let plain =
        Job { on_nan: OnNan::Skip, ..Job::new(zoo::find("cnn@8,channels=1").unwrap(), 64).on_threads(1) };
    let peak = plain.prepare().unwrap().peak();
    let budget = Bytes(peak.0 * 7 / 10);
    let prepared = plain.prepare_within(budget).unwrap();
    assert!(prepared.peak() <= budget);
    let data = data::open("digits", &Wanted::of(&prepared.training), 1).unwrap();
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(budget), run(3)).unwrap();
    let outcome = trainer.train(&data, |_| {}).unwrap();
    assert_eq!((outcome.skipped, outcome.measured_peak), (0, prepared.peak()));
    let file = PlanFile::new(&prepared, "cnn@8,channels=1", budget);
    assert_eq!(file.prepare(plain.model.clone()).unwrap().job.on_nan, OnNan::Skip);
}
