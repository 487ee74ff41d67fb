//! Which gaps to hold: the cheapest decisions found under a budget.
//!
//! Method: from several beginnings (everything held; checkpoints at the borders of segments, see `segments`), change
//! the decision that takes most bytes above the budget away for its cost, until none are left; then hold again whatever
//! there is room for; then, as long as effort is left, anneal (see `anneal`), undo the decisions of one stretch of time
//! and repair, and keep what became cheaper. In large problems many changes are made at once (see `batches`), in those
//! of middle size that is tried, too, and what came out better is kept. Effort is counted in runs looked at.

mod anneal;
mod batches;
mod heights;
mod picture;

use picture::Closure;

use super::schedule::{Gap, Scheduler, Sums};
use super::{Problem, segments};
use std::collections::BinaryHeap;

/// A change is made if its gain is so near to what the next one's was when it was last looked at: of many changes that
/// are alike, each would otherwise be looked at again and again.
const CLOSE: f64 = 0.9;

/// Which part of what is above the budget an item must have to matter: one in so many.
const SMALL: u64 = 4000;

/// Sizes of problems, in gaps times tasks: tiny ones are searched with one change at a time, large ones with many at
/// once, those between in both ways; but those that are not small so only where there is effort.
const TINY: u64 = 1 << 12;
const SMALL_PROBLEM: u64 = 1 << 16;
const LARGE: u64 = 5 << 19;

/// How often each gap is looked at by itself, where many at once are tried, too.
const LOOKS: u64 = 6;

/// Decisions, and what they come to.
#[derive(Clone, Debug)]
pub struct Found {
    /// For each gap of the scheduler.
    pub gaps: Vec<Gap>,
    /// Cost and bytes.
    pub sums: Sums,
    /// How many runs were looked at to find them.
    pub looked: u64,
}

/// Looks for the cheapest decisions whose live bytes stay within a budget; gives the ones with the least excess if none
/// do.
pub fn search(problem: &Problem, budget: u64, effort: u64) -> Found {
    let mut searcher = Searcher::new(problem, budget, effort);
    let mut best = searcher.descend(searcher.scheduler.all_held());
    if best.sums.extra == 0.0 && best.sums.excess == 0 {
        return Found { looked: searcher.looked, ..best };
    }
    for beginning in segments::beginnings(problem, &searcher.scheduler, &searcher.candidates) {
        // From there the search is slow and seldom as good; it is the better scheme where everything else fails.
        let sums = searcher.sums(&beginning);
        let is_cheaper = sums.excess == 0 && sums.extra < best.sums.extra;
        if !is_cheaper && (best.sums.excess == 0 || searcher.effort == 0) {
            continue;
        }
        let found = searcher.descend_quickly(beginning);
        if found.is_better_than(&best) {
            best = found;
        }
    }
    searcher.spend(&mut best);
    Found { looked: searcher.looked, ..best }
}

/// Goes on from decisions that were found for another budget.
pub fn search_from(problem: &Problem, gaps: Vec<Gap>, budget: u64, effort: u64) -> Found {
    let mut searcher = Searcher::new(problem, budget, effort);
    let mut found = searcher.descend(gaps);
    searcher.spend(&mut found);
    Found { looked: searcher.looked, ..found }
}

impl Found {
    /// Whether it is nearer to the budget; or as near, and cheaper.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        (self.sums.excess, self.sums.extra) < (other.sums.excess, other.sums.extra)
    }
}

struct Searcher<'a> {
    problem: &'a Problem,
    scheduler: Scheduler<'a>,
    candidates: Vec<usize>,
    /// Gaps of items that are too small to matter, such as the means of a normalization: looked at only if nothing else
    /// is enough.
    small: Vec<usize>,
    budget: u64,
    tasks: u64,
    /// Bytes above the budget with everything held.
    held_excess: u128,
    effort: u64,
    /// How many runs were looked at.
    looked: u64,
    /// Whether there was any effort.
    is_thorough: bool,
    /// How many runs may yet be looked at for one change at a time.
    looks: u64,
    random: u64,
    closure: Closure,
}

/// Another decision for one gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    gap: usize,
    to: Gap,
    /// Whether what the item is computed from is held until then.
    hold_inputs: bool,
}

/// A change and what it gains; the best is the greatest.
#[derive(PartialEq)]
struct Move {
    gain: f64,
    change: Change,
    /// How many changes had been made when the gain was found.
    age: usize,
}

impl Eq for Move {}

impl PartialOrd for Move {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Move {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.change.cmp(&self.change))
    }
}

impl<'a> Searcher<'a> {
    fn new(problem: &'a Problem, budget: u64, effort: u64) -> Self {
        let mut scheduler = Scheduler::new(problem);
        let held = scheduler.sums(&scheduler.all_held(), budget);
        let least = held.floor.saturating_sub(budget) / SMALL;
        let matters = |&gap: &usize| problem.items[scheduler.item(gap)].bytes > least;
        let (candidates, small) = scheduler.candidates().into_iter().partition(matters);
        let tasks = (problem.tasks.len() + problem.updates.len()) as u64;
        Self {
            problem,
            scheduler,
            candidates,
            small,
            budget,
            tasks: tasks.max(1),
            held_excess: held.excess,
            effort,
            looked: 0,
            is_thorough: effort > 0,
            looks: u64::MAX,
            random: 0x9E37_79B9_7F4A_7C15,
            closure: Closure::default(),
        }
    }

    fn sums(&mut self, gaps: &[Gap]) -> Sums {
        self.looked += self.tasks;
        self.effort = self.effort.saturating_sub(self.tasks);
        self.looks = self.looks.saturating_sub(self.tasks);
        self.scheduler.sums(gaps, self.budget)
    }

    /// Repairs, then holds again what there is room for.
    fn descend(&mut self, gaps: Vec<Gap>) -> Found {
        let size = self.size();
        let many = self.descend_quickly(gaps.clone());
        if size <= TINY || size > LARGE {
            return many;
        }
        let other = if self.is_thorough || size <= SMALL_PROBLEM {
            self.looks = if self.effort > 1 { self.effort.min(LOOKS * size) } else { LOOKS * size };
            self.descend_singly(gaps)
        } else {
            self.descend_in_batches(gaps, batches::FEW_ALIKE)
        };
        if many.is_better_than(&other) { many } else { other }
    }

    /// The same in one way only.
    fn descend_quickly(&mut self, gaps: Vec<Gap>) -> Found {
        self.looks = u64::MAX;
        match self.size() {
            ..=TINY => self.descend_singly(gaps),
            _ => self.descend_in_batches(gaps, batches::MANY_ALIKE),
        }
    }

    /// Gaps that may be changed, times tasks.
    fn size(&self) -> u64 {
        self.candidates.len() as u64 * self.tasks
    }

    /// The same with many changes at once, those that gain so nearly the same.
    fn descend_in_batches(&mut self, gaps: Vec<Gap>, alike: f64) -> Found {
        let mut found = self.repair_in_batches(gaps, alike);
        self.hold_again_in_batches(&mut found);
        found
    }

    /// The same with one change at a time.
    fn descend_singly(&mut self, gaps: Vec<Gap>) -> Found {
        let mut found = self.repair(gaps);
        if found.sums.excess > 0 && !self.small.is_empty() {
            self.candidates.append(&mut self.small);
            found = self.repair(found.gaps);
        }
        self.hold_again(&mut found);
        found
    }

    /// Takes the change with the highest gain, again and again, until nothing is above the budget or nothing helps.
    fn repair(&mut self, gaps: Vec<Gap>) -> Found {
        let sums = self.sums(&gaps);
        let mut found = Found { gaps, sums, looked: 0 };
        if found.sums.excess == 0 {
            return found;
        }
        let mut age = 0;
        let mut moves = self.all_moves(&mut found, age);
        while found.sums.excess > 0 && self.looks > 0 {
            let Some(best) = moves.pop() else { break };
            let fresh =
                if best.age == age { Some(best) } else { self.consider(&mut found, best.change, age) };
            let next = moves.peek().map_or(0.0, |next| next.gain);
            match fresh {
                Some(best) if best.gain >= CLOSE * next => {
                    self.make(&mut found, best.change);
                    age += 1;
                    moves.extend(self.moves_of(&mut found, best.change.gap, age));
                }
                other => moves.extend(other),
            }
            if moves.is_empty() {
                moves = self.all_moves(&mut found, age);
            }
        }
        found
    }

    /// Every change that may help.
    fn all_moves(&mut self, found: &mut Found, age: usize) -> BinaryHeap<Move> {
        self.sums(&found.gaps);
        let above = self.scheduler.tasks_above(self.budget);
        let may_help = |&gap: &usize| {
            let (begin, end) = self.scheduler.span(gap);
            match found.gaps[gap] {
                Gap::Held => above[begin..=end].contains(&true),
                Gap::Once | Gap::Fleeting | Gap::Partly { .. } => self.scheduler.is_again(gap),
            }
        };
        let gaps: Vec<usize> = self.candidates.iter().copied().filter(may_help).collect();
        gaps.into_iter().flat_map(|gap| self.moves_of(found, gap, age)).collect()
    }

    fn moves_of(&mut self, found: &mut Found, gap: usize, age: usize) -> Vec<Move> {
        // What is held is dropped once before it is dropped for good.
        let others: &[Gap] = match found.gaps[gap] {
            Gap::Held => &[Gap::Once],
            Gap::Once => &[Gap::Held, Gap::Fleeting],
            Gap::Fleeting => &[Gap::Held, Gap::Once],
            Gap::Partly { .. } => &[Gap::Held, Gap::Once, Gap::Fleeting],
        };
        let changes = others.iter().flat_map(|&to| {
            let hold: &[bool] = if to == Gap::Held { &[false] } else { &[false, true] };
            hold.iter().map(move |&hold_inputs| Change { gap, to, hold_inputs })
        });
        changes.filter_map(|change| self.consider(found, change, age)).collect()
    }

    /// What a change would gain: bytes above the budget for its cost. Nothing, if it takes none away.
    fn consider(&mut self, found: &mut Found, change: Change, age: usize) -> Option<Move> {
        let undo = self.apply(&mut found.gaps, change);
        if undo.is_empty() {
            return None;
        }
        let sums = self.sums(&found.gaps);
        undo.into_iter().rev().for_each(|(gap, before)| found.gaps[gap] = before);
        if sums.excess >= found.sums.excess {
            return None;
        }
        let less = (found.sums.excess - sums.excess) as f64;
        let cost = sums.extra - found.sums.extra;
        let gain = if cost > 0.0 { less / cost } else { f64::INFINITY };
        Some(Move { gain, change, age })
    }

    /// Changes gaps; gives what they were before.
    fn apply(&self, gaps: &mut [Gap], change: Change) -> Vec<(usize, Gap)> {
        let mut undo = Vec::new();
        let mut set = |gap: usize, to: Gap| {
            if gaps[gap] != to {
                undo.push((gap, std::mem::replace(&mut gaps[gap], to)));
            }
        };
        set(change.gap, change.to);
        if change.hold_inputs {
            for input in self.scheduler.gaps_of_inputs(change.gap) {
                set(input, Gap::Held);
            }
        }
        undo
    }

    fn make(&mut self, found: &mut Found, change: Change) {
        self.apply(&mut found.gaps, change);
        found.sums = self.sums(&found.gaps);
    }

    /// Holds again what there is room for, the most expensive first.
    fn hold_again(&mut self, found: &mut Found) {
        if found.sums.excess > 0 {
            return;
        }
        self.sums(&found.gaps);
        let mut dropped: Vec<usize> = self
            .candidates
            .iter()
            .copied()
            .filter(|&gap| found.gaps[gap] != Gap::Held && self.scheduler.is_again(gap))
            .collect();
        let cost = |gap: &usize| self.problem.tasks[self.scheduler.producer(*gap)].cost;
        dropped.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(a.cmp(b)));
        for gap in dropped {
            if self.looks == 0 {
                break;
            }
            for to in [Gap::Held, Gap::Once] {
                self.try_change(found, gap, to);
            }
        }
    }

    /// Makes a change if the schedule becomes cheaper and stays within the budget.
    fn try_change(&mut self, found: &mut Found, gap: usize, to: Gap) -> bool {
        if found.gaps[gap] == to {
            return false;
        }
        let before = std::mem::replace(&mut found.gaps[gap], to);
        let sums = self.sums(&found.gaps);
        let better = sums.excess == 0 && sums.extra < found.sums.extra;
        if better {
            found.sums = sums
        } else {
            found.gaps[gap] = before
        }
        better
    }

    /// Looks for something cheaper, as long as effort is left.
    fn spend(&mut self, best: &mut Found) {
        if best.sums.extra == 0.0 && best.sums.excess == 0 {
            return;
        }
        self.anneal(best, self.effort / 4);
        self.improve(best);
    }

    /// Undoes the decisions of a stretch of time and repairs, as long as effort is left.
    fn improve(&mut self, best: &mut Found) {
        while self.effort > 0 && !self.candidates.is_empty() && best.sums.extra > 0.0 {
            let mut gaps = best.gaps.clone();
            let tasks = self.tasks;
            let (centre, reach) = (self.pick(tasks), 1 + self.pick(tasks / 3 + 1));
            let is_near = |gap: usize| {
                let (begin, end) = self.scheduler.span(gap);
                (begin as u64).abs_diff(centre) <= reach || (end as u64).abs_diff(centre) <= reach
            };
            let near: Vec<usize> = self.candidates.iter().copied().filter(|&gap| is_near(gap)).collect();
            for gap in near {
                gaps[gap] = if self.pick(4) == 0 { gaps[gap] } else { Gap::Held };
            }
            let found = self.descend_quickly(gaps);
            if found.is_better_than(best) {
                *best = found;
            }
        }
    }

    /// A number below a limit. The same sequence every time.
    fn pick(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit.max(1)
    }
}
