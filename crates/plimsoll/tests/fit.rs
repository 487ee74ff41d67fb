//! Jobs inside budgets: what is computed again or in parts gives the same numbers, at the planned peak; what does not
//! fit is refused.

use plimsoll::data::{self, Wanted};
use plimsoll::memory::Device;
use plimsoll::model::zoo;
use plimsoll::train::Optimizer;
use plimsoll::{Allowed, Bytes, Job, JobError, Lever, PlanFile, Prepared, Run, Trainer, fit, largest_batch};

/// Per cent of what a plain plan takes beside what must be there: less than this does not fit every model.
const TIGHT: u64 = 45;

fn job(model: &str, batch: usize, optimizer: &str) -> Job {
    let optimizer = Optimizer::parse(optimizer).unwrap();
    Job { optimizer, ..Job::new(zoo::find(model).unwrap(), batch).on_threads(2) }
}

/// Losses and trained parameters after some steps. The trainer itself fails if the measured peak is not the planned
/// one.
fn train(prepared: &Prepared, steps: u64) -> (Vec<f32>, Vec<f32>) {
    let data = data::open("synthetic", &Wanted::of(&prepared.training), 3).unwrap();
    let run = Run { steps, learning_rate: 0.01, seed: 3, poison: true };
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run).unwrap();
    let mut losses = Vec::new();
    let outcome = trainer.train(&data, |progress| losses.push(progress.loss)).unwrap();
    assert_eq!(outcome.measured_peak, prepared.peak());
    let graph = prepared.step().graph();
    let parameters =
        graph.with_role(plimsoll::graph::Role::Parameter).filter(|&id| graph.persistents().any(|p| p == id));
    let weights = parameters.flat_map(|id| trainer.executor().read_f32(trainer.program(), id)).collect();
    (losses, weights)
}

fn near(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs())))
}

/// A budget between what must be there and what the plain plan takes.
fn between(plain: &Prepared, percent: u64) -> Bytes {
    let (persistent, peak) = (plain.plan().persistent.0, plain.peak().0);
    Bytes(persistent + (peak - persistent) * percent / 100)
}

#[test]
fn what_is_computed_again_is_the_same_to_the_bit() {
    let models = [
        "resnet50@32,classes=10",
        "densenet121@32,classes=10",
        "unet@32",
        "transformer@32,layers=3",
        "lstm@16",
        "vgg16@32",
    ];
    let mut tight = 0;
    for model in models {
        let job = job(model, 4, "adam");
        let plain = job.prepare().unwrap();
        let (losses, weights) = train(&plain, 2);
        for percent in [80, 60, TIGHT] {
            let budget = between(&plain, percent);
            match fit(&job, budget, Allowed::EXACT.without(Lever::Accumulate)) {
                Ok(found) => {
                    assert!(found.prepared.peak() <= budget, "{model} {percent}");
                    let (again, again_weights) = train(&found.prepared, 2);
                    assert_eq!(again, losses, "{model} {percent}");
                    assert_eq!(again_weights, weights, "{model} {percent}");
                    tight += u32::from(percent == TIGHT);
                }
                // Refused is what the floor rules out, and what is tight.
                Err(JobError::OverBudget(over)) if over.least > budget || percent == TIGHT => {
                    assert!(over.peak > budget, "{model} {percent}");
                }
                Err(other) => panic!("{model} {percent}: {other}"),
            }
        }
    }
    assert!(tight >= 2, "only {tight} models fit {TIGHT} %");
}

#[test]
fn micro_batches_are_the_whole_batch_for_every_optimizer() {
    for optimizer in Optimizer::DEFAULTS {
        for (model, batch) in
            [("mlp@20,classes=5", 10), ("lenet@16,channels=1", 7), ("transformer@8,layers=1", 6)]
        {
            let whole = job(model, batch, optimizer.name());
            let (losses, weights) = train(&whole.prepare().unwrap(), 3);
            for micro_batches in [2, 4] {
                let parts = Job { micro_batches, ..whole.clone() };
                let (parts_losses, parts_weights) = train(&parts.prepare().unwrap(), 3);
                assert!(
                    near(&losses, &parts_losses, 2e-5),
                    "{model} {optimizer} {losses:?} {parts_losses:?}"
                );
                // Adam divides by the root of a square: where a gradient is nearly nothing, rounding decides about its
                // sign.
                let far = weights
                    .iter()
                    .zip(&parts_weights)
                    .filter(|(a, b)| (*a - *b).abs() > 1e-4 * (1.0 + a.abs()))
                    .count();
                assert!(
                    far * 500 <= weights.len(),
                    "{model} {optimizer}: {far} of {} weights differ",
                    weights.len()
                );
            }
        }
    }
}

#[test]
fn fit_cuts_the_batch_where_that_changes_nothing_and_asks_where_it_does() {
    let exact = job("mlp@784", 256, "sgd");
    let plain = exact.prepare().unwrap();
    let budget = between(&plain, 60).max(Bytes(plain.plan().persistent.0 * 2 + (200 << 10)));
    let found = fit(&exact, budget, Allowed::EXACT).unwrap();
    assert!(found.prepared.peak() <= budget && found.changes.is_empty());

    let statistics = job("resnet50@32,classes=10", 16, "sgd");
    let plain = statistics.prepare().unwrap();
    let budget = between(&plain, 50);
    let found = fit(&statistics, budget, Allowed::EXACT).unwrap();
    assert_eq!(found.prepared.job.micro_batches, 1);
    assert!(
        found.advice.iter().any(|remedy| remedy.change.lever() == Lever::Accumulate),
        "{:?}",
        found.advice
    );
    let allowed = Job { micro_batches: 4, ..statistics };
    let found = fit(&allowed, Bytes::mib(1024), Allowed::EXACT).unwrap();
    assert!(
        found.different_numbers().is_some_and(|text| text.contains("4 samples instead of 16")),
        "{:?}",
        found.changes
    );
    train(&found.prepared, 1);
}

#[test]
fn what_changes_numbers_is_used_where_it_is_allowed() {
    let job = job("mlp@784", 8, "adam");
    let plain = job.prepare().unwrap();
    let budget = Bytes(plain.plan().persistent.0 * 4 / 5);
    let refused = fit(&job, budget, Allowed::EXACT).unwrap_err();
    assert!(matches!(refused, JobError::OverBudget(_)), "{refused}");
    let found = fit(&job, budget, Allowed::EXACT.and(Lever::Optimizer)).unwrap();
    assert_ne!(found.prepared.job.optimizer, job.optimizer);
    assert!(found.different_numbers().unwrap().contains("optimizer"));
}

#[test]
fn a_refusal_says_what_no_plan_can_do_without() {
    let job = job("cnn@32", 8, "adam");
    let least = match fit(&job, Bytes(1000), Allowed::EXACT) {
        Err(JobError::OverBudget(over)) => {
            assert!(over.least <= over.peak && over.least > Bytes(1000));
            over.peak
        }
        other => panic!("{other:?}"),
    };
    // What was the smallest plan fits a budget of its size.
    assert!(fit(&job, least, Allowed::EXACT).is_ok());
}

#[test]
fn the_largest_batch_fits_and_the_next_does_not() {
    let job = job("resnet20@32", 1, "adam");
    let budget = Bytes::mib(24);
    let found = largest_batch(&job, budget, 0.2).unwrap();
    let batch = found.prepared.job.batch;
    assert!(found.prepared.peak() <= budget && found.extra_time() <= 0.2 && batch > 1, "{batch}");
    match fit(&Job { batch: batch + 1, ..job.clone() }, budget, Allowed::EXACT) {
        Ok(next) => assert!(next.extra_time() > 0.2, "{} samples fit as well", batch + 1),
        Err(JobError::OverBudget(_)) => {}
        Err(other) => panic!("{other}"),
    }
    let without = largest_batch(&job, budget, 0.0).unwrap();
    assert!(without.prepared.job.batch < batch);
}

#[test]
fn plans_on_disk_are_proved_again_and_other_models_refused() {
    let job = job("cnn@32", 8, "adam");
    let plain = job.prepare().unwrap();
    for micro_batches in [1, 3] {
        let job = Job { micro_batches, ..job.clone() };
        let found = fit(&job, between(&plain, 90).max(Bytes::mib(20)), Allowed::EXACT).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cnn.plan.json");
        PlanFile::new(&found.prepared, "cnn@32", found.budget).write(&path).unwrap();
        let file = PlanFile::read(&path).unwrap();
        let again = file.prepare(zoo::find(&file.model).unwrap()).unwrap();
        assert_eq!(again.peak(), found.prepared.peak());
        assert_eq!(again.plan(), found.prepared.plan());
        assert_eq!(train(&again, 2), train(&found.prepared, 2));

        let refused =
            |file: &PlanFile, model: &str| file.prepare(zoo::find(model).unwrap()).unwrap_err().to_string();
        let other = refused(&file, "cnn@32,classes=7");
        assert!(other.contains("another model") && other.contains("f32["), "{other}");
        let mut damaged = file.clone();
        damaged.parts[0].plan.buffers[0].bytes = Bytes(64);
        refused(&damaged, "cnn@32");
        let mut damaged = file.clone();
        damaged.parts[0].graph.truncate(100);
        assert!(refused(&damaged, "cnn@32").contains("cannot be read"));
        std::fs::write(&path, "{\"format\": 9}").unwrap();
        assert!(PlanFile::read(&path).unwrap_err().to_string().contains("format 9"));
        std::fs::write(&path, "{").unwrap();
        assert!(PlanFile::read(&path).unwrap_err().to_string().contains("not a plan"));
    }
}

#[test]
fn another_optimizer_leaves_the_micro_batches_as_they_were_asked_for() {
    let job = Job { micro_batches: 2, ..Job::new(zoo::find("mlp@784").unwrap(), 32) };
    let lean = Job { optimizer: Optimizer::Sgd, ..job.clone() };
    let budget = lean.prepare().unwrap().peak();
    let allowed = Allowed::EXACT.and(Lever::Optimizer).without(Lever::Accumulate);
    let found = fit(&job, budget, allowed).unwrap();
    assert_eq!((found.prepared.job.micro_batches, found.prepared.job.optimizer), (2, Optimizer::Sgd));
    assert!(found.prepared.peak() <= budget && !found.changes.is_empty());
}
