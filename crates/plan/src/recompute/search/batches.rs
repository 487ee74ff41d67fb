//! The search for large problems: many changes at once, chosen by estimates and measured together.
//!
//! Looking at each change by itself takes time that grows with the square of the number of tasks. Here a round
//! estimates every change, makes those with the highest gains that do not lean on each other, and measures once; what
//! did not help is undone and tried in smaller portions.

use super::heights::Heights;
use super::picture::Picture;
use super::{Change, Found, Searcher};
use crate::recompute::schedule::Gap;
use std::collections::BTreeSet;

/// In one round changes are made whose gain is at least this part of the best one's: sometimes few at once are better,
/// sometimes many.
pub(super) const FEW_ALIKE: f64 = 0.97;
pub(super) const MANY_ALIKE: f64 = 0.7;

/// How many rounds there are at most, and how many changes that did not help by themselves.
const ROUNDS: usize = 600;
const BARRED: usize = 32;

/// How often what there is room for is held again, and how often a portion that was too much is cut in halves.
const PASSES: usize = 2;
const HALVES: usize = 12;

/// A change that may be made.
struct Proposal {
    change: Change,
    gain: f64,
    less: f64,
}

impl Searcher<'_> {
    /// Drops what gains most, round by round, until nothing is above the budget or nothing helps.
    pub(super) fn repair_in_batches(&mut self, gaps: Vec<Gap>, close: f64) -> Found {
        let sums = self.sums(&gaps);
        let mut found = Found { gaps, sums, looked: 0 };
        let mut barred = BTreeSet::new();
        let mut share = 1.0;
        for _ in 0..ROUNDS {
            if found.sums.excess == 0 {
                break;
            }
            let picture = self.picture();
            let proposals = self.proposals(&picture, &found.gaps, &barred);
            let batch = self.compatible(&picture, &found, proposals, (share, close));
            if batch.is_empty() {
                break;
            }
            let undo: Vec<(usize, Gap)> =
                batch.iter().flat_map(|&change| self.apply(&mut found.gaps, change)).collect();
            let sums = self.sums(&found.gaps);
            if sums.excess < found.sums.excess {
                found.sums = sums;
                share = f64::min(1.0, share * 2.0);
                continue;
            }
            undo.into_iter().rev().for_each(|(gap, before)| found.gaps[gap] = before);
            // One change alone is made whatever its share.
            share = f64::max(share / 4.0, 1e-6);
            if let [change] = batch[..] {
                barred.insert(change);
                if barred.len() > BARRED {
                    break;
                }
            }
            self.sums(&found.gaps);
        }
        found
    }

    /// Every change that should help, the best first.
    fn proposals(&mut self, picture: &Picture, gaps: &[Gap], barred: &BTreeSet<Change>) -> Vec<Proposal> {
        let mut proposals = Vec::new();
        for index in 0..self.candidates.len() {
            let gap = self.candidates[index];
            let to = match gaps[gap] {
                Gap::Held => Gap::Once,
                Gap::Once => Gap::Fleeting,
                Gap::Fleeting | Gap::Partly { .. } => continue,
            };
            for hold_inputs in [false, true] {
                let change = Change { gap, to, hold_inputs };
                let Some(estimate) = self.estimate(picture, gaps, change) else { continue };
                let gain = if estimate.cost > 0.0 { estimate.less / estimate.cost } else { f64::INFINITY };
                proposals.push(Proposal { change, gain, less: estimate.less });
            }
        }
        proposals.retain(|proposal| !barred.contains(&proposal.change));
        proposals.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.change.cmp(&b.change)));
        proposals
    }

    /// The best changes that do not lean on what another one drops, up to a share of what is above the budget.
    fn compatible(
        &mut self,
        picture: &Picture,
        found: &Found,
        proposals: Vec<Proposal>,
        (share, close): (f64, f64),
    ) -> Vec<Change> {
        let best =
            proposals.iter().map(|proposal| proposal.gain).find(|gain| gain.is_finite()).unwrap_or(0.0);
        let (mut dropped, mut leaned_on) = (vec![false; found.gaps.len()], vec![false; found.gaps.len()]);
        let mut batch = Vec::new();
        let mut left = found.sums.excess as f64 * share;
        for Proposal { change, gain, less } in proposals {
            if gain < close * best || (left <= 0.0 && !batch.is_empty()) {
                break;
            }
            // Estimated again for what it leans on.
            let may_drop = !leaned_on[change.gap] && !dropped[change.gap];
            if !may_drop || self.estimate(picture, &found.gaps, change).is_none() {
                continue;
            }
            if self.closure.leans_on.iter().any(|&other| dropped[other]) {
                continue;
            }
            self.closure.leans_on.iter().for_each(|&other| leaned_on[other] = true);
            dropped[change.gap] = true;
            left -= less;
            batch.push(change);
        }
        batch
    }

    /// Holds again what there is room for, the most expensive first, many items at once.
    pub(super) fn hold_again_in_batches(&mut self, found: &mut Found) {
        for _ in 0..PASSES {
            if found.sums.excess > 0 || found.sums.extra == 0.0 {
                return;
            }
            self.sums(&found.gaps);
            let changes = self.affordable(&found.gaps);
            let before = found.sums.extra;
            let mut halves = HALVES;
            self.hold_portion(found, &changes, &mut halves);
            if found.sums.extra >= before {
                return;
            }
        }
    }

    /// Makes changes if the schedule becomes cheaper and stays within the budget; if not, each half of them by itself.
    fn hold_portion(&mut self, found: &mut Found, changes: &[(usize, Gap)], halves: &mut usize) {
        if changes.is_empty() || *halves == 0 {
            return;
        }
        *halves -= 1;
        let undo: Vec<(usize, Gap)> = changes.iter().map(|&(gap, _)| (gap, found.gaps[gap])).collect();
        changes.iter().for_each(|&(gap, to)| found.gaps[gap] = to);
        let sums = self.sums(&found.gaps);
        if sums.excess == 0 && sums.extra < found.sums.extra {
            found.sums = sums;
            return;
        }
        undo.into_iter().for_each(|(gap, before)| found.gaps[gap] = before);
        if changes.len() > 1 {
            let (first, second) = changes.split_at(changes.len() / 2);
            self.hold_portion(found, first, halves);
            self.hold_portion(found, second, halves);
        }
    }

    /// What may be held longer and still stay below the budget in the schedule summed up last, the most expensive
    /// first.
    fn affordable(&mut self, gaps: &[Gap]) -> Vec<(usize, Gap)> {
        let picture = self.picture();
        let mut heights = Heights::new(&picture.live);
        let cost = |gap: usize| self.problem.tasks[self.scheduler.producer(gap)].cost;
        let is_dropped = |&gap: &usize| gaps[gap] != Gap::Held && self.scheduler.is_again(gap);
        let mut dropped: Vec<usize> = self.candidates.iter().copied().filter(is_dropped).collect();
        dropped.sort_by(|&a, &b| cost(b).total_cmp(&cost(a)).then(a.cmp(&b)));
        let mut changes = Vec::new();
        for gap in dropped {
            let (begin, end) = self.scheduler.span(gap);
            let again = self.scheduler.first_again(gap);
            let bytes = self.problem.items[self.scheduler.item(gap)].bytes;
            let until = again.filter(|_| gaps[gap] == Gap::Once).unwrap_or(end);
            let mut fits = |from: usize, to: usize| {
                let fits = heights.highest(from, to) + bytes <= self.budget;
                if fits {
                    heights.add(from, to, bytes);
                }
                fits
            };
            if fits(picture.own(begin) + 1, picture.begin(until)) {
                changes.push((gap, Gap::Held));
            } else if let Some(again) = again.filter(|_| gaps[gap] != Gap::Once)
                && fits(picture.own(again), picture.begin(end))
            {
                changes.push((gap, Gap::Once));
            }
        }
        changes
    }
}
