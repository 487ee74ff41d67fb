//! How long planning takes, phase by phase, for models of growing depth.
//!
//! `cargo run --release -p plimsoll --example fit_times [MODEL:BATCH ...]`

use plimsoll::model::zoo;
use plimsoll::plan::recompute::{Problem, Setting, plan_within, search, settled, verify_same};
use plimsoll::plan::{Interval, Options, Residents, buffers, order, place, plan, verify_arena};
use plimsoll::{Allowed, Bytes, Job, Lever, fit};
use std::error::Error;
use std::time::Instant;

const MODELS: [&str; 3] =
    ["transformer@128,layers=16:8", "transformer@128,layers=32:8", "transformer@128,layers=64:8"];

/// Of what a step takes within itself, the share that the budget leaves, in percent.
const SHARE: u64 = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let models = if named.is_empty() { MODELS.map(str::to_string).to_vec() } else { named };
    models.iter().try_for_each(|model| show(model))
}

fn show(model: &str) -> Result<(), Box<dyn Error>> {
    let (name, batch) = model.split_once(':').ok_or("a model is written as NAME:BATCH")?;
    let job = Job::new(zoo::find(name)?, batch.parse()?).on_threads(2);
    println!("{model}");
    let prepared = timed("prepare", || job.prepare())?;
    let (graph, target, options) = (&prepared.training.graph, job.target(), Options::default());
    let ops = timed("order", || order::order(graph, true));
    let drafts = timed("buffers", || buffers::buffers(graph, &ops, &target, options));
    let transient = drafts.buffers.iter().filter(|buffer| !buffer.role.is_persistent());
    let intervals: Vec<Interval> =
        transient.map(|buffer| Interval { live: buffer.live.clone(), bytes: buffer.bytes }).collect();
    let placed = timed("place", || place(&intervals));
    println!(
        "  {} ops, {} intervals, floor {}, peak {}",
        ops.len(),
        intervals.len(),
        placed.floor,
        placed.peak
    );
    let made = timed("plan", || plan(graph, &target, options, &Residents::default()));
    let (persistent, peak) = (made.persistent, made.peak);
    timed("verify", || verify_arena(vec![(graph.clone(), made)], &target))?;
    let costs: Vec<f64> = graph.op_ids().map(|id| job.profile.op_seconds(graph, id)).collect();
    let budget = Bytes(persistent.0 + (peak.0 - persistent.0) * SHARE / 100);
    let problem = timed("problem", || Problem::of(graph, &costs, &target, options));
    let better = timed("settled", || settled(&problem));
    for problem in [&problem, &better] {
        let found = timed("search", || search(problem, budget.0, 0));
        println!("  extra {:.2} %, excess {}", 100.0 * found.sums.extra / problem.cost(), found.sums.excess);
    }
    let residents = Residents::default();
    let setting = Setting { target: &target, options, residents: &residents, costs: &costs, effort: 0 };
    let within = timed("plan within", || plan_within(graph, setting, budget));
    println!("  peak {} of {budget}, floor {}", within.plan.peak, within.plan.floor);
    timed("same", || verify_same(graph, &within.rewritten.graph))?;
    let found = timed("fit", || fit(&job, budget, Allowed::EXACT.without(Lever::Accumulate)))?;
    println!("  {:.2} % more time, {} of {budget}", 100.0 * found.extra_time(), found.prepared.peak());
    Ok(())
}

fn timed<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = act();
    println!("  {what:12} {:8.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    result
}
