//! More memory is never worse: what fits a budget fits every larger one, no slower, and the smallest plan is one number.

use plimsoll::model::zoo;
use plimsoll::plan::Residents;
use plimsoll::plan::recompute::{Setting, Within, plan_within};
use plimsoll::{Allowed, Bytes, Job, JobError, Lever, fit};

/// How many budgets there are between what lives across steps and what the plain plan takes.
const BUDGETS: u64 = 19;

fn job(model: &str, batch: usize) -> Job {
    Job::new(zoo::find(model).unwrap(), batch).on_threads(2)
}

fn budgets(job: &Job) -> Vec<Bytes> {
    let plain = job.prepare().unwrap();
    let (persistent, peak) = (plain.plan().persistent.0, plain.peak().0);
    (1..=BUDGETS).map(|share| Bytes(persistent + (peak - persistent) * share / BUDGETS)).collect()
}

/// Plans of a whole step within budgets that grow.
fn sweep(job: &Job, budgets: &[Bytes]) -> Vec<Within> {
    let graph = &job.prepare().unwrap().training.graph;
    let costs: Vec<f64> = graph.op_ids().map(|id| job.profile.op_seconds(graph, id)).collect();
    let (target, options, residents) = (job.target(), job.options, Residents::default());
    let setting =
        Setting { target: &target, options, residents: &residents, costs: &costs, effort: 0, watch: None };
    budgets.iter().map(|&budget| plan_within(graph, setting, budget)).collect()
}

/// Holds a sweep to what is promised; gives the smallest plan if one was refused.
fn check(name: &str, budgets: &[Bytes], plans: &[Within]) -> Option<Bytes> {
    let refused = plans.iter().take_while(|made| !made.fits).count();
    let smallest = plans[..refused].first().map(|made| made.plan.peak);
    for (budget, made) in budgets.iter().zip(plans) {
        assert!(made.least <= made.plan.peak, "{name} within {budget}: a plan below the floor");
        assert_eq!(made.fits, made.plan.peak <= *budget, "{name} within {budget}");
        assert_eq!(made.fits, smallest.is_none_or(|smallest| smallest <= *budget), "{name} within {budget}");
        assert!(
            made.fits || Some(made.plan.peak) == smallest,
            "{name} within {budget}: another smallest plan"
        );
    }
    for (pair, budget) in plans[refused..].windows(2).zip(&budgets[refused..]) {
        assert!(pair[1].extra <= pair[0].extra, "{name}: more than {budget} is slower");
    }
    smallest
}

#[test]
fn a_larger_budget_gives_a_plan_that_is_no_slower() {
    let models = [("resnet20@16", 4), ("unet@16", 4), ("transformer@16,layers=4", 4), ("mobilenet_v2@32", 2)];
    for (model, batch) in models {
        let job = job(model, batch);
        let budgets = budgets(&job);
        let plans = sweep(&job, &budgets);
        let smallest = check(model, &budgets, &plans).expect("what lives across steps alone is not enough");
        let fitting = plans.iter().filter(|made| made.fits).count();
        assert!(fitting > 0, "{model}: no budget fits");
        // The smallest plan that was named is one.
        assert!(sweep(&job, &[smallest])[0].fits, "{model} within {smallest}");
    }
}

#[test]
fn near_the_smallest_plan_of_a_large_model_nothing_is_refused_above_what_fits() {
    // Between 380 and 420 MiB some budgets were refused though smaller ones fit.
    let job = job("resnet50@224", 8);
    let budgets: Vec<Bytes> = (0..=5).map(|step| Bytes::mib(370 + 10 * step)).collect();
    let plans = sweep(&job, &budgets);
    let smallest = check("resnet50", &budgets, &plans).expect("370 MiB are too few");
    let least = plans[0].least;
    assert!(smallest.0 * 10 <= least.0 * 12, "the smallest plan takes {smallest}, the floor is {least}");
}

#[test]
fn a_search_over_micro_batches_is_no_worse_with_more_memory() {
    for allowed in [Allowed::EXACT, Allowed::EXACT.without(Lever::Accumulate)] {
        let job = job("cnn@16", 12);
        let (mut smallest, mut slowest) = (None, f64::INFINITY);
        for budget in budgets(&job) {
            match fit(&job, budget, allowed) {
                Ok(found) => {
                    assert!(found.prepared.peak() <= budget && smallest.is_none_or(|peak| peak <= budget));
                    assert!(found.prepared.seconds() <= slowest, "{budget} is slower than less");
                    slowest = found.prepared.seconds();
                }
                Err(JobError::OverBudget(over)) => {
                    assert_eq!(*smallest.get_or_insert(over.peak), over.peak, "within {budget}");
                    assert!(over.peak > budget && slowest.is_infinite(), "{budget} is refused, less is not");
                }
                Err(other) => panic!("{other}"),
            }
        }
        let smallest = smallest.expect("what lives across steps alone is not enough");
        assert!(fit(&job, smallest, allowed).unwrap().prepared.peak() <= smallest);
    }
}
