//! Threads and the machine decide how fast a step is, never what it computes: the number of micro-batches, which sums
//! depend on, is the same for any of them, and a plan does with fewer lanes before anything else changes.

use plimsoll::data::{self, Wanted};
use plimsoll::memory::Device;
use plimsoll::model::zoo;
use plimsoll::plan::{Cost, Profile};
use plimsoll::{Allowed, Bytes, Change, Job, Lever, PlanFile, Prepared, Run, Trainer, fit};

fn job(model: &str, threads: usize) -> Job {
    Job::new(zoo::find(model).unwrap(), 12).on_threads(threads)
}

#[test]
fn the_count_of_micro_batches_depends_neither_on_threads_nor_on_prices() {
    for model in ["lenet", "cnn@16"] {
        let one = job(model, 1).prepare().unwrap();
        let (peak, persistent) = (one.peak().0, one.plan().persistent.0);
        for percent in [95, 70, 45, 30] {
            let budget = Bytes(persistent + (peak - persistent) * percent / 100);
            let prepare = |job: Job| job.prepare_within(budget);
            let Ok(expected) = prepare(job(model, 1)) else { continue };
            for threads in [2, 3, 16] {
                let found = prepare(job(model, threads)).unwrap();
                let case = format!("{model}, {percent} %, {threads} threads");
                assert_eq!(found.sizes(), expected.sizes(), "{case}");
                assert!(found.peak() <= budget, "{case}");
                assert_eq!(losses(&found), losses(&expected), "{case}");
            }
            let dear = Job { profile: prices(), ..job(model, 2) };
            assert_eq!(
                prepare(dear).unwrap().sizes(),
                expected.sizes(),
                "{model}, {percent} %, other prices"
            );
        }
    }
}

/// Another machine: every price is another, and not in proportion.
fn prices() -> Profile {
    let mut profile = Profile::default();
    for (index, cost) in profile.costs.values_mut().enumerate() {
        *cost = Cost::from_prices([1e-6 * (index % 7) as f64, 1e-9 / (1 + index % 5) as f64, 1e-10, 1e-10]);
    }
    profile
}

#[test]
fn a_plan_with_fewer_lanes_than_threads_goes_to_disk_and_back() {
    let job = job("lenet", 4);
    let one_lane = job.with_lanes(1).prepare().unwrap().peak();
    assert!(one_lane < job.prepare().unwrap().peak(), "scratch counts");
    let only_lanes = Allowed::EXACT.without(Lever::Recompute).without(Lever::Accumulate);
    let found = fit(&job, one_lane, only_lanes).unwrap();
    let lanes = found.prepared.job.lanes();
    assert!((1..4).contains(&lanes) && found.prepared.job.threads() == 4, "{lanes}");
    assert_eq!(found.stages.last().unwrap().change, Some(Change::Threads(lanes)));
    assert!(found.changes.is_empty(), "no number changes");
    let file = PlanFile::new(&found.prepared, "lenet", one_lane);
    let text = serde_json::to_vec(&file).unwrap();
    let again = PlanFile::parse(&text, "file").unwrap().prepare(job.model.clone()).unwrap();
    assert_eq!((again.job.lanes(), again.job.threads(), again.peak()), (lanes, 4, found.prepared.peak()));
    assert_eq!(losses(&again), losses(&job.prepare().unwrap()));
}

fn losses(prepared: &Prepared) -> Vec<u32> {
    let data = data::open("synthetic", &Wanted::of(&prepared.training), 3).unwrap();
    let run = Run { steps: 2, learning_rate: 0.01, seed: 3, poison: true };
    let mut trainer = Trainer::new(prepared.clone(), &Device::host(prepared.peak()), run).unwrap();
    let mut losses = Vec::new();
    trainer.train(&data, |progress| losses.push(progress.loss.to_bits())).unwrap();
    losses
}
