//! Beginnings for the search: checkpoints at the borders of segments, everything else computed again.
//!
//! On a chain with about as many segments as the square root of its length this is Chen's scheme, so the search is
//! never worse than that.

use super::Problem;
use super::schedule::{Gap, Scheduler};

/// How many segments are tried, as long as the forward pass has so many tasks.
const COUNTS: [usize; 12] = [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32];

/// Decisions for several numbers of segments, the square root of the number of tasks among them.
pub fn beginnings(problem: &Problem, scheduler: &Scheduler<'_>, candidates: &[usize]) -> Vec<Vec<Gap>> {
    let root = (problem.turn as f64).sqrt().round() as usize;
    let mut counts: Vec<usize> =
        COUNTS.iter().copied().chain([root]).filter(|&count| count < problem.turn).collect();
    counts.sort_unstable();
    counts.dedup();
    let crossing = crossing(problem);
    counts
        .iter()
        .map(|&count| with_borders(problem, scheduler, candidates, &borders(&crossing, count)))
        .collect()
}

/// For each forward task, the bytes that later forward tasks read across it.
fn crossing(problem: &Problem) -> Vec<u64> {
    let last = last_forward_use(problem);
    let mut crossing = vec![0; problem.turn];
    for (item, facts) in problem.items.iter().enumerate() {
        let Some(producer) = facts.producer.filter(|&producer| producer < problem.turn) else { continue };
        crossing[producer..last[item].max(producer)].iter_mut().for_each(|bytes| *bytes += facts.bytes);
    }
    crossing
}

/// For each item, the last forward task that reads it.
fn last_forward_use(problem: &Problem) -> Vec<usize> {
    let mut last = vec![0; problem.items.len()];
    for (task, facts) in problem.tasks[..problem.turn].iter().enumerate() {
        facts.inputs.iter().for_each(|&item| last[item] = task);
    }
    last
}

/// Cuts the forward pass into so many parts, each border where least bytes cross in its neighbourhood.
fn borders(crossing: &[u64], count: usize) -> Vec<usize> {
    let length = crossing.len() / count;
    let around = |border: usize| {
        let centre = border * crossing.len() / count;
        let range = centre.saturating_sub(length / 3)..(centre + length / 3 + 1).min(crossing.len());
        range.min_by_key(|&task| (crossing[task], task.abs_diff(centre)))
    };
    (1..count).filter_map(around).collect()
}

/// Holds what crosses a border on its way forward; everything else is computed again once.
fn with_borders(
    problem: &Problem,
    scheduler: &Scheduler<'_>,
    candidates: &[usize],
    borders: &[usize],
) -> Vec<Gap> {
    let last = last_forward_use(problem);
    let crosses = |item: usize| {
        let producer = problem.items[item].producer.unwrap_or(0);
        producer >= problem.turn || borders.iter().any(|&border| producer <= border && border < last[item])
    };
    let mut gaps = scheduler.all_held();
    for &gap in candidates {
        // What the backward pass reads at once was not kept for it.
        let (begin, end) = scheduler.span(gap);
        let is_long = begin < problem.turn && end >= problem.turn;
        if is_long && !crosses(scheduler.item(gap)) {
            gaps[gap] = Gap::Once;
        }
    }
    gaps
}
