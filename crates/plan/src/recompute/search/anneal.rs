//! Annealing: random changes, of which worse ones are kept too, at first often, later seldom.
//!
//! It finds what no sequence of single improvements reaches, but needs many more looks than there are gaps: it is for
//! small problems, or for a lot of effort. Bytes above the budget have a price; it rises while schedules are above the
//! budget and falls while they fit, so that the walk stays where the best schedules are, along the border.

use super::{Change, Found, Searcher, Sums};
use crate::recompute::schedule::Gap;

/// Looks for each gap in one round; without so many, a round is not worth while.
const LOOKS: u64 = 60;

/// The temperature of the beginning and the end, as a part of what the problem costs.
const HOT: f64 = 0.004;
const COLD: f64 = 0.0002;

/// After so many looks the price of excess is set anew.
const PRICED: u64 = 24;

/// How many changes one step makes at most.
const TOGETHER: u64 = 3;

/// Where the walk is.
struct Walk {
    found: Found,
    temperature: f64,
    /// What a byte above the budget costs.
    price: f64,
}

impl Walk {
    fn energy(&self, sums: &Sums) -> f64 {
        sums.extra + self.price * sums.excess as f64
    }
}

impl Searcher<'_> {
    /// Anneals in rounds, each from the best so far, as long as effort above a reserve is left.
    pub(super) fn anneal(&mut self, best: &mut Found, reserve: u64) {
        let length = LOOKS * self.candidates.len() as u64;
        while self.effort > reserve + length * self.tasks && length > 0 {
            self.round(best, length);
            self.hold_again(best);
        }
    }

    fn round(&mut self, best: &mut Found, length: u64) {
        let cost = self.problem.cost();
        let price = cost / (1.0 + 4.0 * self.held_excess as f64);
        let mut walk = Walk { found: best.clone(), temperature: HOT * cost, price };
        let cooling = (COLD / HOT).powf(1.0 / length as f64);
        let mut fitting = 0;
        for look in 1..=length {
            self.step(&mut walk);
            walk.temperature *= cooling;
            fitting += u64::from(walk.found.sums.excess == 0);
            if walk.found.is_better_than(best) {
                best.clone_from(&walk.found);
            }
            if look % PRICED == 0 {
                walk.price *= if 2 * fitting > PRICED { 0.8 } else { 1.25 };
                fitting = 0;
            }
        }
    }

    /// Makes a few random changes, and undoes them if they are too bad for the temperature.
    fn step(&mut self, walk: &mut Walk) {
        let mut undo = Vec::new();
        for _ in 0..1 + self.pick(TOGETHER) {
            let change = self.random_change();
            undo.extend(self.apply(&mut walk.found.gaps, change));
        }
        if undo.is_empty() {
            return;
        }
        let sums = self.sums(&walk.found.gaps);
        let worse = walk.energy(&sums) - walk.energy(&walk.found.sums);
        let chance = self.pick(1 << 20) as f64 / f64::from(1 << 20);
        if worse <= 0.0 || chance < (-worse / walk.temperature).exp() {
            walk.found.sums = sums;
        } else {
            undo.into_iter().rev().for_each(|(gap, before)| walk.found.gaps[gap] = before);
        }
    }

    fn random_change(&mut self) -> Change {
        let candidate = self.pick(self.candidates.len() as u64);
        let gap = self.candidates[candidate as usize];
        let to = match self.pick(6) {
            0 => Gap::Held,
            1 => Gap::Once,
            2 => Gap::Fleeting,
            _ => self.random_part(gap),
        };
        Change { gap, to, hold_inputs: to != Gap::Held && self.pick(4) == 0 }
    }

    /// The item stays in the first part of its gap, or the last, or both.
    fn random_part(&mut self, gap: usize) -> Gap {
        let (begin, end) = self.scheduler.span(gap);
        let [one, other] = [0; 2].map(|_| begin as u64 + self.pick((end - begin) as u64 + 1));
        let (until, from) = (one.min(other) as u32, one.max(other) as u32);
        let early = self.pick(3) == 0;
        match self.pick(3) {
            0 => Gap::Partly { until, from: u32::MAX, early: false },
            1 => Gap::Partly { until: 0, from, early },
            _ => Gap::Partly { until, from, early },
        }
    }
}
