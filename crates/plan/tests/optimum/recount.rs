//! A slow and short recount of a schedule: every run finds what it reads, and how many bytes are live at each run.

use plimsoll_plan::recompute::Problem;
use plimsoll_plan::recompute::schedule::{Gap, Scheduler};

/// What a recount gives.
#[derive(Debug, PartialEq)]
pub struct Recount {
    /// What all runs cost together.
    pub cost: f64,
    /// The most bytes live at once.
    pub floor: u64,
}

/// Follows the runs of some decisions; for problems without updates, scratch and ops in place.
pub fn recount(problem: &Problem, gaps: &[Gap]) -> Recount {
    let runs = Scheduler::new(problem).runs(gaps);
    check(problem, &runs);
    let live = (0..runs.len()).map(|at| live(problem, &runs, at));
    Recount { floor: live.max().unwrap_or(0), cost: runs.iter().map(|&run| problem.tasks[run].cost).sum() }
}

/// Every task runs, for the first time in the order of the problem, and behind the producers of what it reads.
fn check(problem: &Problem, runs: &[usize]) {
    let mut done = 0;
    for (at, &run) in runs.iter().enumerate() {
        assert!(run <= done, "task {run} runs first in front of task {done}");
        done += usize::from(run == done);
        for &item in &problem.tasks[run].inputs {
            let is_there = problem.items[item].producer.is_none_or(|producer| runs[..at].contains(&producer));
            assert!(is_there, "task {run} does not find item {item}");
        }
    }
    assert_eq!(done, problem.tasks.len());
}

/// Bytes live at one run: what it reads and writes, and what is read behind it before it is written again.
fn live(problem: &Problem, runs: &[usize], at: usize) -> u64 {
    let reads = |run: usize, item: usize| problem.tasks[run].inputs.contains(&item);
    let writes = |run: usize, item: usize| problem.items[item].producer == Some(run);
    let is_live = |&item: &usize| {
        let is_given = problem.items[item].producer.is_none();
        let was_written = is_given || runs[..=at].iter().any(|&run| writes(run, item));
        let next = runs[at + 1..].iter().find(|&&run| reads(run, item) || writes(run, item));
        let is_needed = next.is_some_and(|&run| reads(run, item));
        let is_used = reads(runs[at], item) || writes(runs[at], item);
        is_used || (was_written && is_needed) || (is_given && at == 0)
    };
    (0..problem.items.len()).filter(is_live).map(|item| problem.items[item].bytes).sum()
}
