//! What plans within budgets cost, and what finding them takes: `within EFFORT MODEL:BATCH:BUDGET,BUDGET...`, where a
//! budget is a share of what the plain plan takes within a step, in percent, or a number of MiB with an `m` behind it.
//! The figures of `bench/records/2026-11-17-fit-depth.md` come from here.

use plimsoll::model::zoo;
use plimsoll::plan::Residents;
use plimsoll::plan::recompute::{Looked, Setting, plan_within};
use plimsoll::{Bytes, Job};
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let effort = arguments.next().and_then(|effort| effort.parse().ok()).expect("an effort");
    for specification in arguments {
        let parts: Vec<&str> = specification.split(':').collect();
        let [model, batch, budgets] = parts[..] else { panic!("MODEL:BATCH:BUDGETS") };
        let model = zoo::find(model).expect("a model of the zoo");
        let job = Job::new(model, batch.parse().expect("a number")).on_threads(2);
        for budget in budgets.split(',') {
            measure(&job, &specification, budget, effort);
        }
    }
}

fn measure(job: &Job, specification: &str, budget: &str, effort: u64) {
    let plain = job.prepare().expect("a plan");
    let graph = &plain.training.graph;
    let costs: Vec<f64> = graph.op_ids().map(|id| job.profile.op_seconds(graph, id)).collect();
    let (persistent, peak) = (plain.plan().persistent.0, plain.peak().0);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let bytes = match budget.strip_suffix('m') {
        Some(mib) => (number(mib) * f64::from(1 << 20)) as u64,
        None => persistent + ((peak - persistent) as f64 * number(budget) / 100.0) as u64,
    };
    let (target, options, residents) = (job.target(), job.options, Residents::default());
    let runs = AtomicU64::new(0);
    let watch = |looked: Looked| {
        runs.fetch_add(looked.runs, Ordering::Relaxed);
    };
    let (residents, costs) = (&residents, costs.as_slice());
    let setting = Setting { target: &target, options, residents, costs, effort, watch: Some(&watch) };
    let begin = processor_seconds();
    let made = plan_within(graph, setting, Bytes(bytes));
    println!(
        "{specification} {budget}: {}, fits {}, peak {}, {:.2} % more time, floor {}, {:.2} s, {} runs",
        Bytes(bytes),
        made.fits,
        made.plan.peak,
        100.0 * made.extra / costs.iter().sum::<f64>(),
        made.least,
        processor_seconds() - begin,
        runs.load(Ordering::Relaxed)
    );
}

/// Seconds of the processor that this process has taken; by the clock it would depend on what else runs.
fn processor_seconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let mut fields = statistics.rsplit(')').next().unwrap_or_default().split_whitespace();
    let user = fields.nth(11).and_then(|ticks| ticks.parse::<f64>().ok());
    user.unwrap_or(f64::NAN) / 100.0
}
