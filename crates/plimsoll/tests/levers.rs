//! The list of levers holds what it says: each is reached by `fit` or a refusal, and is as exact as it is called.

use plimsoll::data::{self, Wanted};
use plimsoll::memory::Device;
use plimsoll::model::layer::{BatchNormalization, Conv2d, Dense, Flatten, LayerNormalization, Merge};
use plimsoll::model::{Builder, Model, zoo};
use plimsoll::train::lever::{Exactness, Home};
use plimsoll::{Allowed, Bytes, Change, Job, JobError, Lever, Prepared, Run, Trainer, fit};
use std::collections::BTreeSet;

const STEPS: u64 = 3;

#[test]
fn levers_are_as_exact_as_they_are_called() {
    for seed in 0..6 {
        for apart in [true, false] {
            let job = as_written(random_model(seed, apart));
            let losses = train(&job.prepare().unwrap());
            for lever in Lever::of(Home::Plimsoll) {
                let change = lever.changes(job.choices()).next().expect("each can change something here");
                let changed = train(&pulled(&job, change));
                let case = format!("{lever}, model {seed}, apart {apart}: {losses:?} {changed:?}");
                match lever.facts().exactness {
                    Exactness::Always => assert_eq!(losses, changed, "{case}"),
                    Exactness::WhereSamplesStayApart => {
                        assert_eq!(near(&losses, &changed, 2e-5), apart, "{case}");
                    }
                    Exactness::Never => assert!(!near(&losses, &changed, 2e-5), "{case}"),
                }
            }
        }
    }
}

#[test]
fn every_lever_of_plimsoll_is_reached_and_no_other() {
    let all: Allowed = Lever::ALL.into_iter().collect();
    let mut reached = BTreeSet::new();
    for model in ["mlp@784", "resnet20@16"] {
        let job = Job::new(zoo::find(model).unwrap(), 8).on_threads(2);
        let plain = job.prepare().unwrap();
        let (peak, persistent) = (plain.peak().0, plain.plan().persistent.0);
        let budgets = [persistent + (peak - persistent) * 8 / 10, persistent * 4 / 5, 1];
        // Scratch for one thread is enough for what it takes; other levers would do, too.
        let one_lane = job.with_lanes(1).prepare().unwrap().peak().0;
        let only_lanes = Allowed::EXACT.without(Lever::Recompute).without(Lever::Accumulate);
        let cases = budgets.into_iter().flat_map(|budget| [(budget, all), (budget, Allowed::EXACT)]);
        for (budget, allowed) in cases.chain([(one_lane, only_lanes)]) {
            match fit(&job, Bytes(budget), allowed) {
                Ok(found) => {
                    let changes = found.stages.iter().filter_map(|stage| stage.change);
                    reached.extend(changes.map(Change::lever));
                    reached.extend(found.advice.iter().map(|remedy| remedy.change.lever()));
                }
                Err(JobError::OverBudget(over)) => {
                    reached.extend(over.remedies.iter().map(|remedy| remedy.change.lever()));
                }
                Err(other) => panic!("{model} {budget}: {other}"),
            }
        }
    }
    assert_eq!(reached, Lever::of(Home::Plimsoll).collect());
}

#[test]
fn what_is_withheld_is_not_used() {
    let job = Job::new(zoo::find("resnet20@16").unwrap(), 8).on_threads(2);
    let peak = job.prepare().unwrap().peak();
    let all: Allowed = Lever::ALL.into_iter().collect();
    for lever in Lever::of(Home::Plimsoll) {
        for percent in [80, 0] {
            let used: Vec<Lever> = match fit(&job, Bytes(peak.0 * percent / 100), all.without(lever)) {
                Ok(found) => {
                    let changes = found.stages.iter().filter_map(|stage| stage.change);
                    changes
                        .chain(found.advice.iter().map(|remedy| remedy.change))
                        .map(Change::lever)
                        .collect()
                }
                Err(JobError::OverBudget(over)) => {
                    over.remedies.iter().map(|remedy| remedy.change.lever()).collect()
                }
                Err(other) => panic!("{lever} {percent}: {other}"),
            };
            assert!(!used.contains(&lever), "{lever} {percent}: {used:?}");
        }
    }
}

/// A job with no lever pulled.
fn as_written(model: Model) -> Job {
    let mut job = Job::new(model, 12).on_threads(2);
    (job.options.in_place, job.options.update_when_ready) = (false, false);
    job
}

/// The job after a change; where values are computed again, with a budget that makes it necessary.
fn pulled(job: &Job, change: Change) -> Prepared {
    let changed = job.with(change).expect("it is a lever of Plimsoll");
    if change != Change::Recompute {
        return changed.prepare().unwrap();
    }
    let plain = changed.prepare().unwrap();
    let budget = Bytes(plain.peak().0 - (plain.peak() - plain.plan().persistent).0 / 10);
    let found = fit(&changed, budget, Allowed::EXACT.without(Lever::Accumulate)).unwrap();
    assert!(found.prepared.parts[0].again().next().is_some(), "nothing is computed again");
    found.prepared
}

fn train(prepared: &Prepared) -> Vec<f32> {
    let data = data::open("synthetic", &Wanted::of(&prepared.training), 3).unwrap();
    let run = Run { steps: STEPS, learning_rate: 0.01, seed: 3, poison: true };
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run).unwrap();
    let mut losses = Vec::new();
    trainer.train(&data, |progress| losses.push(progress.loss)).unwrap();
    losses
}

fn near(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * (1.0 + x.abs()))
}

/// Some convolutions with residual connections; samples see each other through batch statistics, or not at all.
fn random_model(seed: u64, apart: bool) -> Model {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(7);
    let mut below = |count: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % count
    };
    let mut net = Builder::new(format!("random {seed}"));
    let mut x = net.input([6, 6, 2]);
    let filters = 4 + below(5) as usize;
    x = net.push(Conv2d::new(filters, 3).same().relu(), &[x]);
    for _ in 0..2 + below(3) {
        let y = net.push(Conv2d::new(filters, 1 + 2 * below(2) as usize).same(), &[x]);
        let y = match apart {
            true => net.push(LayerNormalization::default(), &[y]),
            false => net.push(BatchNormalization::default(), &[y]),
        };
        x = if below(2) == 0 { net.push(Merge::Add, &[x, y]) } else { y };
    }
    let x = net.push(Flatten {}, &[x]);
    let x = net.push(Dense::new(8 + below(8) as usize).relu(), &[x]);
    let x = net.push(Dense::new(5).softmax(), &[x]);
    net.build(x)
}
