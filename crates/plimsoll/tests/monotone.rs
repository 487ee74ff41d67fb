//! More memory is never worse: what fits a budget fits every larger one, no slower, and the smallest plan is one
//! number. How long that takes follows the depth of a model; it is counted, not timed.

use plimsoll::model::zoo;
use plimsoll::plan::Residents;
use plimsoll::plan::recompute::{Looked, Planner, Setting, Within};
use plimsoll::{Allowed, Bytes, Job, JobError, Lever, fit};
use std::sync::atomic::{AtomicU64, Ordering};

/// As much as a fit takes.
const EFFORT: u64 = 1_000_000;

fn job(model: &str, batch: usize) -> Job {
    Job::new(zoo::find(model).unwrap(), batch).on_threads(2)
}

/// So many budgets between what lives across steps and what the plain plan takes.
fn budgets(job: &Job, count: u64) -> Vec<Bytes> {
    let plain = job.prepare().unwrap();
    let (persistent, peak) = (plain.plan().persistent.0, plain.peak().0);
    (1..=count).map(|share| Bytes(persistent + (peak - persistent) * share / count)).collect()
}

/// Plans of a whole step within budgets that grow, and how many runs of tasks were looked at for them.
fn sweep(job: &Job, budgets: &[Bytes], effort: u64) -> (Vec<Within>, u64) {
    let graph = &job.prepare().unwrap().training.graph;
    let costs: Vec<f64> = graph.op_ids().map(|id| job.profile.op_seconds(graph, id)).collect();
    let (target, options, residents) = (job.target(), job.options, Residents::default());
    let runs = AtomicU64::new(0);
    let watch = |looked: Looked| {
        runs.fetch_add(looked.runs, Ordering::Relaxed);
    };
    let (residents, costs) = (&residents, costs.as_slice());
    let setting = Setting { target: &target, options, residents, costs, effort, watch: Some(&watch) };
    let planner = Planner::new(graph, setting);
    let plans: Vec<Within> = budgets.iter().map(|&budget| planner.within(budget)).collect();
    let runs = runs.load(Ordering::Relaxed);
    (plans, runs)
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
    let models = [
        ("resnet20@16", 4, EFFORT),
        ("unet@16", 4, EFFORT),
        ("mlp@20", 16, EFFORT),
        ("transformer@16,layers=4", 4, 0),
        ("mobilenet_v2@32", 2, 0),
    ];
    for (model, batch, effort) in models {
        let job = job(model, batch);
        let budgets = budgets(&job, 40);
        let (plans, _) = sweep(&job, &budgets, effort);
        let smallest = check(model, &budgets, &plans).expect("what lives across steps alone is not enough");
        assert!(plans.iter().any(|made| made.fits), "{model}: no budget fits");
        // What was found for other budgets makes no difference.
        let (alone, _) = sweep(&job, &budgets[19..20], effort);
        assert_eq!(alone[0].plan, plans[19].plan, "{model} within {}", budgets[19]);
        // The smallest plan that was named is one, and nothing less.
        let (plans, _) = sweep(&job, &[Bytes(smallest.0 - 1), smallest], effort);
        assert_eq!([plans[0].fits, plans[1].fits], [false, true], "{model} within {smallest}");
        assert_eq!(plans[0].plan.peak, smallest, "{model}");
    }
}

#[test]
fn near_the_smallest_plan_of_a_large_model_nothing_is_refused_above_what_fits() {
    // Of these budgets 410 MiB were refused and 392 to 408 were not; 408 were faster than 410.
    let job = job("resnet50@224", 8);
    let budgets: Vec<Bytes> = [340, 368].into_iter().chain((390..=412).step_by(2)).map(Bytes::mib).collect();
    let (plans, _) = sweep(&job, &budgets, EFFORT);
    let smallest = check("resnet50", &budgets, &plans).expect("340 MiB are too few");
    assert!(plans[2..].iter().all(|made| made.fits), "the smallest plan takes {smallest}");
    let least = plans[0].least;
    assert!(smallest.0 * 10 <= least.0 * 11, "the smallest plan takes {smallest}, the floor is {least}");
}

#[test]
fn effort_grows_with_depth_as_the_depth_does() {
    let deep = |layers: usize| job(&format!("transformer@128,layers={layers}"), 8);
    for (percent, fits) in [(60, true), (5, false)] {
        let counted = [16, 50, 100, 200].map(|layers| {
            let job = deep(layers);
            let budget = budgets(&job, 100)[percent - 1];
            let (plans, runs) = sweep(&job, &[budget], 0);
            assert_eq!(plans[0].fits, fits, "{layers} layers, {percent} %");
            (layers, runs)
        });
        println!("{percent} %: {counted:?}");
        for pair in counted.windows(2) {
            let [(few, less), (many, more)] = [pair[0], pair[1]];
            let (depth, runs) = (many as f64 / few as f64, more as f64 / less as f64);
            assert!(runs <= 1.5 * depth, "{few} to {many} layers, {percent} %: {less} to {more} runs");
        }
    }
}

/// Holds `fit` to the same; gives how many budgets fit.
fn check_fit(job: &Job, allowed: Allowed, count: u64) -> usize {
    let (mut smallest, mut slowest, mut fitting) = (None, f64::INFINITY, 0);
    for budget in budgets(job, count) {
        match fit(job, budget, allowed) {
            Ok(found) => {
                assert!(found.prepared.peak() <= budget && smallest.is_none_or(|peak| peak <= budget));
                let seconds = found.prepared.seconds();
                assert!(seconds <= slowest, "{budget} is slower than less: {seconds} and {slowest}");
                (slowest, fitting) = (seconds, fitting + 1);
            }
            Err(JobError::OverBudget(over)) => {
                assert_eq!(*smallest.get_or_insert(over.peak), over.peak, "within {budget}");
                assert!(over.peak > budget && slowest.is_infinite(), "{budget} is refused, less is not");
            }
            Err(other) => panic!("{other}"),
        }
    }
    let smallest = smallest.expect("what lives across steps alone is not enough");
    assert!(fit(job, smallest, allowed).unwrap().prepared.peak() <= smallest);
    fitting
}

#[test]
fn a_fit_is_no_worse_with_more_memory() {
    let whole = Allowed::EXACT.without(Lever::Accumulate);
    assert!(check_fit(&job("resnet20@16", 4), whole, 8) > 3);
    assert!(check_fit(&job("lenet@16,channels=1", 12), whole, 24) > 2);
    // How many micro-batches there are is decided as on one thread.
    assert!(check_fit(&job("lenet@16,channels=1", 12).on_threads(1), Allowed::EXACT, 24) > 2);
    assert!(check_fit(&job("mlp@20", 48).on_threads(1), Allowed::EXACT, 32) > 2);
}
