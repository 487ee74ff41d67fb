//! Schedules of one graph for less and less memory, the same whatever the budget is.
//!
//! A search that aims at one budget may miss it by a hair, though one that aimed lower would have met it. So the rungs
//! of the ladder follow from the graph alone, from everything held down to the least that is found. A budget only
//! chooses among them, and where to look for more of them: what is found for a budget is known to every larger one, so
//! more memory is never worse (see `within`).

use super::schedule::Scheduler;
use super::{Found, Looked, Problem, search, search_from, settled};
use plimsoll_trace::Bytes;
use std::cell::OnceCell;

/// How far above what no schedule can do without the rungs stand, in percent of the way to everything held.
const RUNGS: [u64; 6] = [77, 54, 32, 18, 9, 4];

/// How far above it the aims below the last rung are, in percent of the way to what was reached.
const AIMS: [u64; 3] = [70, 25, 50];

/// How far above the smallest schedule the rungs stand that are not reached easily, in percent of the way to the last
/// one that is.
const SMALLER: [u64; 3] = [60, 30, 10];

/// Shares of the effort that go into one rung, and into one schedule between two.
const FOR_RUNGS: u64 = 6;
const BETWEEN: u64 = 4;

/// How much more the others may cost that are given beside the cheapest schedule: their plans may have smaller gaps.
const ALIKE: f64 = 1.2;

/// How often each gap is looked at for something cheaper, at most: in a small problem there is less to find.
const SPENT: u64 = 300;

/// Of so many tasks only one order is looked at.
const MANY: usize = 2000;

/// The steps of the ladder, from the top down; and who is told.
pub(super) struct Ladder<'a> {
    /// The tasks in the order of the graph.
    written: Problem,
    /// The tasks in the order that is the best for computing again.
    problem: OnceCell<Problem>,
    /// What no schedule can do without.
    least: u64,
    /// How long to look for cheaper schedules, in runs looked at.
    effort: u64,
    /// Is told of each schedule.
    watch: Option<&'a (dyn Fn(Looked) + Sync)>,
}

impl<'a> Ladder<'a> {
    /// A ladder that takes at most so much effort for a schedule.
    pub(super) fn new(written: Problem, effort: u64, watch: Option<&'a (dyn Fn(Looked) + Sync)>) -> Self {
        let size = Scheduler::new(&written).candidates().len() * written.tasks.len();
        let (least, effort) = (written.least(), effort.min(SPENT * size as u64));
        Self { written, problem: OnceCell::new(), least, effort, watch }
    }

    /// What no schedule can do without.
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// The tasks in the order of the graph, or in a settled one, whichever is better for computing again.
    pub(super) fn problem(&self) -> &Problem {
        self.problem.get_or_init(|| {
            let (written, settled) = (&self.written, settled(&self.written));
            let is_same = settled.tasks.iter().zip(&written.tasks).all(|(one, other)| one.op == other.op);
            let is_better = || self.cost_of_order(&settled) <= self.cost_of_order(written);
            if is_same || written.tasks.len() > MANY || is_better() { settled } else { written.clone() }
        })
    }

    /// What a schedule costs that takes so much of the way from what none can do without to everything held.
    fn cost_of_order(&self, problem: &Problem) -> (u128, f64) {
        let target = share_of_way(self.least, held(problem).sums.floor, RUNGS[3]);
        let found = self.tell(search(problem, target, 0));
        (found.sums.excess, found.sums.extra)
    }

    /// Schedules from everything held down to what is not reached easily: cheaper ones first, each smaller than those
    /// before it.
    pub(super) fn rungs(&self) -> Vec<Found> {
        let mut rungs = vec![held(self.problem())];
        let high = rungs[0].sums.floor;
        let targets = RUNGS.map(|share| share_of_way(self.least, high, share));
        for target in targets {
            let found = self.best([self.below(&rungs, target), self.fresh(target, 0)]);
            let found = self.repaired(found, target);
            let is_missed = found.sums.excess > 0;
            rungs.push(found);
            if is_missed {
                break;
            }
        }
        // With more room, the next smaller one may be the best beginning.
        for index in (1..rungs.len() - 1).rev() {
            let found = self.onward(&rungs[index + 1], targets[index - 1], 0);
            let found = self.best([rungs[index].clone(), found]);
            rungs[index] = self.cheaper(found, targets[index - 1], self.effort / FOR_RUNGS);
        }
        useful(rungs)
    }

    /// The same ladder with others instead of its last rung, which may have missed its aim: down to the smallest
    /// schedule that is found. None is cheaper than the last but one, which is chosen without knowing them.
    pub(super) fn with_smaller(&self, rungs: &[Found]) -> Vec<Found> {
        let Some((last, above)) = rungs.split_last() else { return Vec::new() };
        let Some(lowest) = above.last() else { return rungs.to_vec() };
        let smallest = self.squeeze(last);
        let targets = SMALLER.map(|share| share_of_way(smallest.sums.floor, lowest.sums.floor, share));
        let mut smaller = vec![lowest.clone()];
        for target in targets {
            let found = [self.below(&smaller, target), self.onward(&smallest, target, 0)];
            smaller.push(self.best(found));
        }
        smaller.push(smallest);
        for index in (1..=targets.len()).rev() {
            let target = targets[index - 1];
            let found = self.best([smaller[index].clone(), self.onward(&smaller[index + 1], target, 0)]);
            smaller[index] = self.cheaper(found, target, self.effort / FOR_RUNGS);
        }
        smaller.retain(|rung| rung.sums.extra >= lowest.sums.extra);
        useful([above, &smaller].concat())
    }

    /// Schedules within so many bytes that cost no less than a larger one and less than a smaller one, the cheapest
    /// first; looked for one change at a time, too, if that is asked for.
    pub(super) fn between(&self, larger: &Found, smaller: &Found, target: u64, singly: bool) -> Vec<Found> {
        let thorough = if singly { self.effort.min(1) } else { 0 };
        let from = [self.onward(larger, target, thorough), self.onward(smaller, target, 0)];
        let mut found = from.to_vec();
        found.push(self.fresh(target, 0));
        found.retain(|found| found.sums.excess == 0);
        found.sort_by(|a, b| a.sums.extra.total_cmp(&b.sums.extra));
        if let Some(cheapest) = found.first() {
            let cheaper = self.cheaper(cheapest.clone(), target, self.effort / BETWEEN);
            found.insert(0, cheaper);
        }
        found.dedup_by_key(|found| found.sums.extra);
        found.retain(|found| (larger.sums.extra..smaller.sums.extra).contains(&found.sums.extra));
        let most = found.first().map_or(0.0, |found| found.sums.extra * ALIKE);
        found.retain(|found| found.sums.extra <= most);
        found
    }

    /// The smallest schedule that is found. It aims below what was reached, a little and a lot: a schedule that misses
    /// a low aim may still be the smallest.
    fn squeeze(&self, last: &Found) -> Found {
        let mut smallest = last.clone();
        for share in AIMS {
            if smallest.sums.floor <= self.least {
                break;
            }
            let target = share_of_way(self.least, smallest.sums.floor, share);
            for found in [self.onward(&smallest, target, self.effort.min(1)), self.fresh(target, 0)] {
                if found.sums.floor < smallest.sums.floor {
                    smallest = found;
                }
            }
        }
        let floor = smallest.sums.floor;
        let again = self.onward(&smallest, floor, self.effort / FOR_RUNGS);
        if again.sums.excess == 0 && again.sums.extra < smallest.sums.extra { again } else { smallest }
    }

    /// Spends effort on something cheaper.
    fn cheaper(&self, found: Found, target: u64, effort: u64) -> Found {
        if effort == 0 {
            return found;
        }
        let cheaper = self.onward(&found, target, effort);
        self.best([found, cheaper])
    }

    fn below(&self, rungs: &[Found], target: u64) -> Found {
        self.onward(&rungs[rungs.len() - 1], target, 0)
    }

    /// Where a schedule misses its target, goes on one change at a time.
    fn repaired(&self, found: Found, target: u64) -> Found {
        match found.sums.excess > 0 && self.effort > 0 {
            true => self.best([self.onward(&found, target, 1), found]),
            false => found,
        }
    }

    fn best<const COUNT: usize>(&self, found: [Found; COUNT]) -> Found {
        let better = |one: Found, other: Found| if other.is_better_than(&one) { other } else { one };
        found.into_iter().reduce(better).expect("there is one at least")
    }

    fn fresh(&self, target: u64, effort: u64) -> Found {
        self.tell(search(self.problem(), target, effort))
    }

    fn onward(&self, from: &Found, target: u64, effort: u64) -> Found {
        self.tell(search_from(self.problem(), from.gaps.clone(), target, effort))
    }

    fn tell(&self, found: Found) -> Found {
        if let Some(watch) = self.watch {
            watch(Looked { floor: Bytes(found.sums.floor), runs: found.looked });
        }
        found
    }
}

fn share_of_way(low: u64, high: u64, percent: u64) -> u64 {
    low + (u128::from(high.saturating_sub(low)) * u128::from(percent) / 100) as u64
}

fn held(problem: &Problem) -> Found {
    let mut scheduler = Scheduler::new(problem);
    let gaps = scheduler.all_held();
    let sums = scheduler.sums(&gaps, u64::MAX);
    Found { gaps, sums, looked: 0 }
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
