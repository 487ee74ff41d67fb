//! More memory is never worse: what fits a budget fits every larger one, no slower, and the smallest plan is one number.

use plimsoll::model::zoo;
use plimsoll::plan::Residents;
use plimsoll::plan::recompute::{Setting, Within, plan_within};
use plimsoll::{Allowed, Bytes, Job, JobError, Lever, fit};

/// How many budgets there are between what lives across steps and what the plain plan takes.
const BUDGETS: u64 = 23;

fn budgets(job: &Job) -> impl Iterator<Item = Bytes> {
    let plain = job.prepare().unwrap();
    let (persistent, peak) = (plain.plan().persistent.0, plain.peak().0);
    (1..=BUDGETS).map(move |share| Bytes(persistent + (peak - persistent) * share / BUDGETS))
}

/// Plans of a whole step for several budgets, with these.
fn sweep(job: &Job) -> Vec<(Bytes, Within)> {
    let graph = &job.prepare().unwrap().training.graph;
    let costs: Vec<f64> = graph.op_ids().map(|id| job.profile.op_seconds(graph, id)).collect();
    let (target, residents) = (job.target(), Residents::default());
    let setting = Setting {
        target: &target,
        options: job.options,
        residents: &residents,
        costs: &costs,
        effort: 100_000,
    };
    budgets(job).map(|budget| (budget, plan_within(graph, setting, budget))).collect()
}

#[test]
fn a_larger_budget_gives_a_plan_that_is_no_slower() {
    let models = [
        ("resnet20@16", 4),
        ("unet@16", 4),
        ("transformer@16,layers=4", 4),
        ("lstm@8", 4),
        ("mobilenet_v2@32", 2),
    ];
    for (model, batch) in models {
        let plans = sweep(&Job::new(zoo::find(model).unwrap(), batch).on_threads(2));
        let (refused, fitting): (Vec<_>, Vec<_>) = plans.iter().partition(|(_, made)| !made.fits);
        assert!(!refused.is_empty() && fitting.len() > 10, "{model}: {} fit", fitting.len());
        let smallest = refused[0].1.plan.peak;
        for (budget, made) in &refused {
            assert_eq!(made.plan.peak, smallest, "{model} within {budget}");
            assert!(smallest > *budget && made.least <= smallest, "{model} within {budget}");
        }
        for (budget, made) in &fitting {
            assert!(made.plan.peak <= *budget && *budget >= smallest, "{model} within {budget}");
        }
        for pair in fitting.windows(2) {
            let ((budget, less), (_, more)) = (pair[0], pair[1]);
            assert!(more.extra <= less.extra, "{model}: more than {budget} is slower");
        }
    }
}

#[test]
fn refusals_name_the_same_smallest_plan_and_it_fits() {
    let job = Job::new(zoo::find("cnn@16").unwrap(), 4).on_threads(2);
    for allow in [Allowed::EXACT, Allowed::EXACT.without(Lever::Accumulate)] {
        let mut smallest = None;
        for budget in budgets(&job) {
            match fit(&job, budget, allow) {
                Ok(found) => {
                    assert!(found.prepared.peak() <= budget && smallest.is_none_or(|peak| peak <= budget))
                }
                Err(JobError::OverBudget(over)) => {
                    assert_eq!(*smallest.get_or_insert(over.peak), over.peak);
                    assert!(over.peak > budget);
                }
                Err(other) => panic!("{other}"),
            }
        }
        let smallest = smallest.expect("what lives across steps alone is not enough");
        assert_eq!(fit(&job, smallest, allow).unwrap().prepared.peak(), smallest);
    }
}
