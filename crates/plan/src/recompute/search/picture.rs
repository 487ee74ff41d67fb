//! A schedule seen from the side: what a change to one gap should come to, without making the schedule again.
//!
//! Estimates are cheap and good enough to choose many changes at once; what they really come to is then measured once
//! for all of them.

use super::{Change, Searcher};
use crate::recompute::schedule::Gap;

/// Live bytes along a schedule, with sums that tell what bytes more or fewer along a stretch of it come to.
pub(super) struct Picture {
    /// Bytes live at each run.
    pub(super) live: Vec<u64>,
    /// For each task, its own run.
    own: Vec<usize>,
    /// The binary logarithm of the smallest size that sums are kept for.
    lowest: u32,
    /// For sizes that are powers of two, what so many bytes less take away of the excess, summed up to each run.
    less: Vec<Vec<f64>>,
    /// What so many bytes more add to it.
    more: Vec<Vec<f64>>,
}

/// What a change should come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    /// Bytes above the budget, summed over the runs, that it takes away.
    pub(super) less: f64,
    /// What it costs.
    pub(super) cost: f64,
}

/// What would run again for an item, and what that would read. Keeps its workspace from one item to the next.
#[derive(Default)]
pub(super) struct Closure {
    tasks: Vec<usize>,
    /// The gaps of items that are there.
    pub(super) leans_on: Vec<usize>,
    pending: Vec<usize>,
    /// For each task, the number of the closure that met it last.
    met: Vec<u32>,
    number: u32,
}

/// A picture with its estimates takes about as long as so many schedules.
const LOOKS: u64 = 8;

/// What takes more tasks than this to compute again is not dropped.
const MOST: usize = 64;

impl Picture {
    fn new(live: Vec<u64>, own: Vec<usize>, budget: u64, sizes: std::ops::RangeInclusive<u64>) -> Self {
        let (lowest, highest) = (sizes.start().max(&1).ilog2(), sizes.end().max(&1).ilog2() + 1);
        let sums = |change: &dyn Fn(u64, u64) -> u64| -> Vec<Vec<f64>> {
            let along = |size: u64| {
                let mut sum = 0.0;
                let steps = live.iter().map(|&live| {
                    sum += change(live, size) as f64;
                    sum
                });
                std::iter::once(0.0).chain(steps).collect()
            };
            (lowest..=highest).map(|power| along(1 << power)).collect()
        };
        let less = sums(&|live, size| live.saturating_sub(budget).min(size));
        let more = sums(&|live, size| (live + size).saturating_sub(budget).min(size));
        Self { live, own, lowest, less, more }
    }

    /// The run of a task itself, and the first run of its turn.
    pub(super) fn own(&self, task: usize) -> usize {
        self.own.get(task).copied().unwrap_or(self.live.len())
    }

    pub(super) fn begin(&self, task: usize) -> usize {
        if task == 0 { 0 } else { (self.own(task - 1) + 1).min(self.live.len()) }
    }

    fn sum(&self, sums: &[Vec<f64>], bytes: u64, from: usize, to: usize) -> f64 {
        if to <= from {
            return 0.0;
        }
        let power = bytes.max(1).ilog2().clamp(self.lowest, self.lowest + sums.len() as u32 - 2);
        let share = bytes as f64 / (1u64 << power) as f64 - 1.0;
        let [low, high] = [power, power + 1]
            .map(|power| &sums[(power - self.lowest) as usize])
            .map(|sums| sums[to] - sums[from]);
        low + share * (high - low)
    }

    fn less(&self, bytes: u64, from: usize, to: usize) -> f64 {
        self.sum(&self.less, bytes, from, to)
    }

    fn more(&self, bytes: u64, from: usize, to: usize) -> f64 {
        self.sum(&self.more, bytes, from, to)
    }
}

impl Searcher<'_> {
    /// Looks at the schedule summed up last.
    pub(super) fn picture(&mut self) -> Picture {
        self.looked += LOOKS * self.tasks;
        self.effort = self.effort.saturating_sub(LOOKS * self.tasks);
        let (live, own) = self.scheduler.profile();
        let sizes = || self.candidates.iter().map(|&gap| self.problem.items[self.scheduler.item(gap)].bytes);
        Picture::new(live, own, self.budget, sizes().min().unwrap_or(1)..=sizes().max().unwrap_or(1))
    }

    /// What a change that drops an item should come to. Nothing, if it should not help, or if too much would have to
    /// run again.
    pub(super) fn estimate(&mut self, picture: &Picture, gaps: &[Gap], change: Change) -> Option<Estimate> {
        let Change { gap, to, hold_inputs } = change;
        let (begin, end) = self.scheduler.span(gap);
        let (from, turn) = match (gaps[gap], to) {
            (Gap::Held, _) => (picture.own(begin) + 1, self.scheduler.first_reread(gap).unwrap_or(end)),
            (Gap::Once, Gap::Fleeting) => (picture.own(self.scheduler.first_again(gap)?), end),
            _ => return None,
        };
        let less = picture.less(self.bytes(gap), from, picture.begin(turn));
        if less <= 0.0 || turn >= self.problem.tasks.len() {
            return None;
        }
        let mut estimate = Estimate { less, cost: 0.0 };
        match hold_inputs {
            true => self.count_inputs(picture, gaps, (gap, turn), &mut estimate)?,
            false => self.count_closure(picture, gaps, (gap, turn), &mut estimate)?,
        }
        (estimate.less > 0.0).then_some(estimate)
    }

    /// Counts what is computed again with an item at a turn: its cost, and the room it takes.
    fn count_closure(
        &mut self,
        picture: &Picture,
        gaps: &[Gap],
        (gap, turn): (usize, usize),
        estimate: &mut Estimate,
    ) -> Option<()> {
        self.close(gaps, gap, turn)?;
        let mut live = picture.live[picture.own(turn)];
        for &task in &self.closure.tasks {
            estimate.cost += self.problem.tasks[task].cost;
            let outputs = self.problem.tasks[task].outputs.iter();
            for &output in outputs.filter(|&&output| output != self.scheduler.item(gap)) {
                let other = self.scheduler.gap_at(output, turn);
                live += self.bytes(other);
                // What is computed again later anyway, and stays, is computed now instead.
                if let Some(later) = self.scheduler.first_again(other).filter(|_| gaps[other] == Gap::Once) {
                    estimate.cost -= self.problem.tasks[task].cost;
                    estimate.less -= picture.more(self.bytes(other), picture.own(turn), picture.begin(later));
                }
            }
        }
        estimate.less -= live.saturating_sub(self.budget) as f64 * self.closure.tasks.len() as f64;
        Some(())
    }

    /// Counts what it takes to hold what an item is computed from up to a turn. Nothing, if all of it is held already.
    fn count_inputs(
        &mut self,
        picture: &Picture,
        gaps: &[Gap],
        (gap, turn): (usize, usize),
        estimate: &mut Estimate,
    ) -> Option<()> {
        self.closure.begin(self.problem.tasks.len());
        self.closure.leans_on.extend(self.scheduler.gaps_of_inputs(gap));
        let mut is_change = false;
        for &other in self.closure.leans_on.iter().filter(|&&other| gaps[other] != Gap::Held) {
            let Some(producer) = self.problem.items[self.scheduler.item(other)].producer else { continue };
            is_change = true;
            let (begin, _) = self.scheduler.span(other);
            let again = self.scheduler.first_again(other);
            let until = again.map_or(turn, |again| again.min(turn));
            estimate.less -= picture.more(self.bytes(other), picture.own(begin) + 1, picture.begin(until));
            estimate.cost -= again.map_or(0.0, |_| self.problem.tasks[producer].cost);
        }
        estimate.cost += self.problem.tasks[self.scheduler.producer(gap)].cost;
        estimate.less -= picture.live[picture.own(turn)].saturating_sub(self.budget) as f64;
        is_change.then_some(())
    }

    fn bytes(&self, gap: usize) -> u64 {
        self.problem.items[self.scheduler.item(gap)].bytes
    }

    /// Finds what would run again for the item of a gap at a turn.
    fn close(&mut self, gaps: &[Gap], gap: usize, turn: usize) -> Option<()> {
        let Self { problem, scheduler, closure, .. } = self;
        closure.begin(problem.tasks.len());
        closure.meet(scheduler.producer(gap));
        while let Some(task) = closure.pending.pop() {
            for &item in scheduler.reads(task) {
                let Some(producer) = problem.items[item].producer else { continue };
                let other = scheduler.gap_at(item, turn);
                let again = scheduler.first_again(other);
                let is_there = match gaps[other] {
                    Gap::Held => true,
                    Gap::Once => again.is_some_and(|again| again <= turn),
                    Gap::Fleeting | Gap::Partly { .. } => again == Some(turn),
                };
                if is_there { closure.leans_on.push(other) } else { closure.meet(producer) }
            }
            if closure.tasks.len() > MOST {
                return None;
            }
        }
        Some(())
    }
}

impl Closure {
    fn begin(&mut self, tasks: usize) {
        self.met.resize(tasks, 0);
        self.number += 1;
        self.tasks.clear();
        self.leans_on.clear();
        self.pending.clear();
    }

    fn meet(&mut self, task: usize) {
        if std::mem::replace(&mut self.met[task], self.number) != self.number {
            self.tasks.push(task);
            self.pending.push(task);
        }
    }
}
