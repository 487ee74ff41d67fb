//! Schedules of one graph for less and less memory, the same whatever the budget is.
//!
//! A search that aims at one budget may miss it by a hair, though one that aimed lower would have met it. So the rungs
//! of the ladder follow from the graph alone, from everything held down to the least that is found. A budget only
//! chooses among them, and where to look for more of them: what is found for a budget is known to every larger one, so
//! more memory is never worse (see `within`).

use super::schedule::Scheduler;
use super::{Found, Looked, Problem, search, search_from};
use plimsoll_trace::Bytes;

/// How far above what no schedule can do without the rungs stand, in percent of the way to everything held.
const RUNGS: [u64; 5] = [54, 32, 18, 9, 4];

/// How far above it the aims below the last rung are, in percent of the way to what was reached; and how much more
/// effort goes into them.
const AIMS: [u64; 4] = [70, 25, 50, 10];
const HARDER: u64 = 3;

/// The steps of the ladder, from the top down; and who is told.
pub(super) struct Ladder<'a> {
    /// The tasks in the order that is the best for them.
    pub(super) problem: &'a Problem,
    /// What no schedule can do without.
    pub(super) least: u64,
    /// How long to look for cheaper schedules, in runs looked at.
    pub(super) effort: u64,
    /// Is told of each schedule.
    pub(super) watch: Option<&'a (dyn Fn(Looked) + Sync)>,
}

impl Ladder<'_> {
    /// Schedules from everything held down to what is not reached easily: cheaper ones first, each smaller than those
    /// before it.
    pub(super) fn rungs(&self) -> Vec<Found> {
        let mut rungs = vec![held(self.problem)];
        let high = rungs[0].sums.floor;
        let targets = RUNGS.map(|share| share_of_way(self.least, high, share));
        for target in targets {
            let found = self.best([self.from_above(&rungs, target), self.fresh(target, self.effort.min(1))]);
            let is_missed = found.sums.excess > 0;
            rungs.push(found);
            if is_missed {
                break;
            }
        }
        // With more room, the next smaller one may be the best beginning.
        for index in (1..rungs.len() - 1).rev() {
            let found = self.onward(&rungs[index + 1], targets[index - 1], self.effort / 4);
            let known = std::mem::replace(&mut rungs[index], found);
            if !rungs[index].is_better_than(&known) {
                rungs[index] = known;
            }
        }
        useful(rungs)
    }

    /// A ladder with schedules below its smallest, looked for with more effort. None is cheaper than the last but one
    /// of the ladder, which is chosen without knowing them.
    pub(super) fn with_smaller(&self, mut rungs: Vec<Found>) -> Vec<Found> {
        let least = rungs.iter().rev().nth(1).map_or(0.0, |rung| rung.sums.extra);
        let smaller = rungs.last().map_or_else(Vec::new, |last| self.squeeze(last));
        rungs.extend(smaller.into_iter().filter(|rung| rung.sums.extra >= least));
        useful(rungs)
    }

    /// A schedule within so many bytes that costs no less than a larger one and less than a smaller one.
    pub(super) fn between(
        &self,
        larger: &Found,
        smaller: &Found,
        target: u64,
        afresh: bool,
    ) -> Option<Found> {
        let mut found =
            vec![self.onward(larger, target, self.effort.min(1)), self.onward(smaller, target, 0)];
        found.extend(afresh.then(|| self.fresh(target, 0)));
        found.retain(|found| found.sums.excess == 0);
        found.sort_by(|a, b| a.sums.extra.total_cmp(&b.sums.extra));
        if let Some(cheapest) = found.first().filter(|_| self.effort > 0) {
            let cheaper = self.onward(cheapest, target, self.effort);
            found.insert(0, cheaper);
        }
        found.into_iter().find(|found| (larger.sums.extra..smaller.sums.extra).contains(&found.sums.extra))
    }

    /// Aims below what was reached, a little and a lot: a schedule that misses a low aim may still be the smallest.
    fn squeeze(&self, last: &Found) -> Vec<Found> {
        let mut rungs = vec![last.clone()];
        let mut smallest = last.clone();
        for share in AIMS {
            let target = share_of_way(self.least, smallest.sums.floor, share);
            let tried = [
                self.onward(&smallest, target, self.effort.min(1)),
                self.fresh(target, self.effort.min(1)),
                self.fresh(target, 0),
            ];
            let harder = self.onward(&self.best(tried.clone()), target, HARDER * self.effort);
            rungs.extend(tried.into_iter().chain([harder]));
            let is_smallest = rungs.iter().min_by_key(|rung| rung.sums.floor);
            smallest = is_smallest.unwrap_or(last).clone();
        }
        rungs
    }

    fn from_above(&self, rungs: &[Found], target: u64) -> Found {
        self.onward(&rungs[rungs.len() - 1], target, 0)
    }

    fn best<const COUNT: usize>(&self, found: [Found; COUNT]) -> Found {
        let better = |one: Found, other: Found| if other.is_better_than(&one) { other } else { one };
        found.into_iter().reduce(better).expect("there is one at least")
    }

    fn fresh(&self, target: u64, effort: u64) -> Found {
        self.tell(search(self.problem, target, effort))
    }

    fn onward(&self, from: &Found, target: u64, effort: u64) -> Found {
        self.tell(search_from(self.problem, from.gaps.clone(), target, effort))
    }

    fn tell(&self, found: Found) -> Found {
        if let Some(watch) = self.watch {
            watch(Looked { floor: Bytes(found.sums.floor) });
        }
        found
    }
}

/// The better order for a schedule that takes so much of the way from what none can do without to everything held.
pub(super) fn better_order(problems: [Problem; 2], least: u64) -> Problem {
    let cost = |problem: &Problem| {
        let target = share_of_way(least, held(problem).sums.floor, RUNGS[2]);
        let found = search(problem, target, 0);
        (found.sums.excess, found.sums.extra)
    };
    let [one, other] = problems;
    if cost(&other) < cost(&one) { other } else { one }
}

fn share_of_way(low: u64, high: u64, percent: u64) -> u64 {
    low + (u128::from(high.saturating_sub(low)) * u128::from(percent) / 100) as u64
}

fn held(problem: &Problem) -> Found {
    let mut scheduler = Scheduler::new(problem);
    let gaps = scheduler.all_held();
    let sums = scheduler.sums(&gaps, u64::MAX);
    Found { gaps, sums }
}

/// The cheapest first, and of the others those that are smaller than all before.
fn useful(mut rungs: Vec<Found>) -> Vec<Found> {
    let key = |found: &Found| (found.sums.extra, found.sums.floor);
    rungs.sort_by(|a, b| key(a).0.total_cmp(&key(b).0).then(key(a).1.cmp(&key(b).1)));
    let mut smallest = u64::MAX;
    rungs.retain(|rung| {
        let is_smaller = rung.sums.floor < smallest;
        smallest = smallest.min(rung.sums.floor);
        is_smaller
    });
    rungs
}
