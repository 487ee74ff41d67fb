//! Schedules of one graph for less and less memory, the same whatever the budget is.
//!
//! A search that aims at one budget may miss it by a hair, though one that aimed lower would have met it. So the rungs are fixed by the graph
//! alone, from everything held down to the least that is found, and a budget only chooses among them: more memory is never worse.

use super::schedule::Scheduler;
use super::{Found, Problem, search, search_from};

/// How many rungs lie between everything held and what no schedule can do without, and how many where there are many tasks.
const RUNGS: u64 = 24;
const FEWER_RUNGS: u64 = 12;

/// More tasks than this are many. Then only one rung in so many is looked for from the beginning; the others follow from the rung before.
pub(super) const MANY: usize = 2000;
const FRESH: u64 = 6;

/// How long to look for a schedule where there seems to be none, in runs looked at; and at most so many for each task.
const EFFORT: u64 = 3_000_000;
const EFFORT_OF_TASK: u64 = 3_500;

/// How often a third of the way from what is reached to what is not is tried.
const THIRDS: usize = 4;

/// Between two rungs, how many more are looked for.
const STEPS: u64 = 8;

/// A schedule.
#[derive(Clone, Debug)]
pub(super) struct Rung {
    /// The order of tasks it is for, of those that were given.
    pub(super) order: usize,
    pub(super) found: Found,
}

/// Schedules from everything held down to what is not reached easily.
pub(super) fn ladder(problems: &[Problem]) -> Vec<Rung> {
    let of_order = |(order, problem)| descend(problem).into_iter().map(move |found| Rung { order, found });
    problems.iter().enumerate().flat_map(of_order).collect()
}

/// Schedules below a ladder, looked for with more effort.
pub(super) fn below(problems: &[Problem], rungs: &[Rung]) -> Vec<Rung> {
    let of_order = |(order, problem): (usize, &Problem)| {
        let last = rungs.iter().filter(|rung| rung.order == order).min_by_key(|rung| rung.found.sums.floor);
        let last = last.map_or_else(|| held(problem), |rung| rung.found.clone());
        squeeze(problem, last).into_iter().map(move |found| Rung { order, found })
    };
    problems.iter().enumerate().flat_map(of_order).collect()
}

/// Schedules between a larger and a smaller rung.
pub(super) fn between(problems: &[Problem], larger: Option<&Rung>, smaller: &Rung, effort: u64) -> Vec<Rung> {
    let order = larger.map_or(smaller.order, |rung| rung.order);
    let held = || held(&problems[order]);
    let mut found = larger.map_or_else(held, |rung| rung.found.clone());
    let (high, low) = (found.sums.floor, smaller.found.sums.floor);
    let mut rungs = Vec::new();
    for step in 1..STEPS {
        let target = high - high.saturating_sub(low) * step / STEPS;
        found = search_from(&problems[order], found.gaps, target, effort / STEPS);
        rungs.push(Rung { order, found: found.clone() });
    }
    rungs
}

/// Rung after rung, each from the one before, down to what cannot be reached.
fn descend(problem: &Problem) -> Vec<Found> {
    let mut last = held(problem);
    let (high, low) = (last.sums.floor, problem.least());
    let are_many = problem.tasks.len() > MANY;
    let count = if are_many { FEWER_RUNGS } else { RUNGS };
    let mut rungs = Vec::new();
    for number in 1..=count {
        let target = high - high.saturating_sub(low) * number / count;
        let next = search_from(problem, last.gaps.clone(), target, 0);
        let is_fresh = !are_many || number % FRESH == 0 || next.sums.excess > 0;
        let found = if is_fresh { better(next, search(problem, target, 0)) } else { next };
        if found.sums.excess > 0 {
            break;
        }
        rungs.push(found.clone());
        last = found;
    }
    rungs
}

/// Goes a third of the way from what was reached to what cannot be, again and again.
fn squeeze(problem: &Problem, last: Found) -> Vec<Found> {
    let (mut reached, mut missed) = (last.sums.floor, problem.least());
    let mut rungs = Vec::new();
    let mut gaps = last.gaps;
    let effort = EFFORT.min(EFFORT_OF_TASK * problem.tasks.len() as u64);
    for _ in 0..THIRDS {
        let target = reached - reached.saturating_sub(missed) / 3;
        let next = better(search_from(problem, gaps.clone(), target, 0), search(problem, target, 0));
        let found = search_from(problem, next.gaps, target, effort);
        if found.sums.excess == 0 {
            (reached, gaps) = (found.sums.floor, found.gaps.clone());
        } else {
            missed = target;
        }
        rungs.push(found);
    }
    rungs
}

fn better(one: Found, other: Found) -> Found {
    if other.is_better_than(&one) { other } else { one }
}

fn held(problem: &Problem) -> Found {
    let mut scheduler = Scheduler::new(problem);
    let gaps = scheduler.all_held();
    let sums = scheduler.sums(&gaps, u64::MAX);
    Found { gaps, sums }
}
