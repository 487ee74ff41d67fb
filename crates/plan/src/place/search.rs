//! Exact placement: a search for offsets that stay below a capacity, or a proof that there are none.
//!
//! In: intervals and a capacity. Out: a verdict and the number of nodes it took. Effort is limited in nodes. Invariant:
//! where there is a placement, there is a settled one, in which nothing could be moved to a lower free offset. Every
//! rule may drop placements that are not settled, and no other. Method: depth first. A node takes an interval that
//! nothing left can lie below, and either places it there, on what is placed, or passes it over: then something that is
//! not placed yet must lie below it. The ideas that keep the tree small are switches in [`Ideas`], and tests run all
//! combinations, which must agree on the verdict. Most follow Moffitt, MiniMalloc (ASPLOS 2023).

mod moves;
mod reasons;
mod tighten;

use self::reasons::Levels;
use super::ranking::ranks;
use super::{Interval, Ranking};
use plimsoll_trace::{Bytes, Offset};
use std::collections::HashSet;

/// What a search found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An offset for each interval; everything ends at or below the capacity.
    Placed(Vec<Offset>),
    /// There is no such placement.
    Impossible,
    /// The nodes were used up before either was known.
    GaveUp,
}

/// A verdict and its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// What was found out.
    pub verdict: Verdict,
    /// How many intervals were tried at some offset.
    pub nodes: u64,
}

/// The ideas that keep the search small. None changes the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ideas {
    /// A section (a time during which nothing begins or ends) must have room for all that is still to come, above the
    /// lowest offset any of it can have.
    pub section_bound: bool,
    /// Where an interval cannot be the lowest of some that live in one section, because all of them above it would not
    /// fit, it is lifted above the one that can end first (the not-first rule of scheduling).
    pub not_first: bool,
    /// What is not placed at its lowest offset must have something in the way there: otherwise it could be moved down.
    pub dominance: bool,
    /// Of intervals with the same life and size none is placed where another was passed over.
    pub twins: bool,
    /// What has no neighbour in time left to place is solved apart from the rest, so a failure in one part does not
    /// repeat the others.
    pub decomposition: bool,
    /// A choice that has no part in a failure is not made otherwise, because that would fail as well.
    pub backjumps: bool,
    /// What is left to place and how low it can lie are all that counts: if it failed once, it fails whatever lies
    /// below.
    pub memory: bool,
}

impl Ideas {
    /// All of them.
    pub const ALL: Ideas = Ideas {
        section_bound: true,
        not_first: true,
        dominance: true,
        twins: true,
        decomposition: true,
        backjumps: true,
        memory: true,
    };
}

/// Searches with one ranking until it is done or the nodes are used up.
pub fn search(
    intervals: &[Interval],
    capacity: Bytes,
    ranking: Ranking,
    ideas: Ideas,
    nodes: u64,
) -> Searched {
    let mut search = Search::new(intervals, capacity.0, ideas);
    let verdict = search.run(intervals, ranking, nodes);
    Searched { verdict, nodes: search.nodes }
}

/// How the search for a part ended. After anything but success, the state is as it was before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Solved,
    Failed,
    OutOfNodes,
}

/// The state of a search. What it learnt stays from run to run.
pub(super) struct Search {
    capacity: u64,
    ideas: Ideas,
    limit: u64,
    pub(super) nodes: u64,
    size: Vec<u64>,
    /// The sections each interval is live in, half-open.
    span: Vec<(usize, usize)>,
    /// The position of each interval in the ranking.
    rank: Vec<usize>,
    /// For each section, what is live in it.
    sections: Vec<Vec<usize>>,
    /// For each interval, the others that are live at some time with it.
    neighbours: Vec<Vec<usize>>,
    placed: Vec<bool>,
    /// For a placed interval its offset, for another the highest end of a neighbour that is placed.
    offset: Vec<u64>,
    /// The lowest offset an interval can still have.
    bound: Vec<u64>,
    /// Sections to be looked at again.
    dirty: Vec<bool>,
    /// For each section, the bytes still to be placed.
    remaining: Vec<u64>,
    /// For each interval, the most bytes that are live at once during it.
    total: Vec<u64>,
    /// Offsets to be put back on the way up.
    trail: Vec<(usize, u64, u64, Levels)>,
    /// For each placed interval, how many were placed before it.
    level: Vec<usize>,
    depth: usize,
    /// For each interval, the levels from which its bound follows.
    why: Vec<Levels>,
    /// The levels from which the last failure followed.
    conflict: Levels,
    /// What is known to fail, as hashes.
    failed: HashSet<u64>,
}

impl Search {
    pub(super) fn new(intervals: &[Interval], capacity: u64, ideas: Ideas) -> Self {
        let span = spans(intervals);
        let size: Vec<u64> = intervals.iter().map(|interval| interval.bytes.0).collect();
        // What takes no room lies at the start.
        let placed: Vec<bool> = (0..size.len()).map(|i| size[i] == 0 || span[i].0 >= span[i].1).collect();
        let mut sections = vec![Vec::new(); span.iter().map(|&(_, end)| end).max().unwrap_or(0)];
        for index in (0..size.len()).filter(|&index| !placed[index]) {
            sections[span[index].0..span[index].1].iter_mut().for_each(|section| section.push(index));
        }
        let remaining: Vec<u64> =
            sections.iter().map(|section| section.iter().map(|&index| size[index]).sum()).collect();
        let total: Vec<u64> = span
            .iter()
            .map(|&(first, end)| remaining[first..end.max(first)].iter().copied().max().unwrap_or(0))
            .collect();
        let neighbours = (0..size.len()).map(|index| neighbours(index, &span, &placed)).collect();
        Self {
            // No offset is above what all sizes come to, so sums of offsets and sizes stay small.
            capacity: capacity.min(size.iter().sum()),
            ideas,
            limit: 0,
            nodes: 0,
            rank: Vec::new(),
            total,
            offset: vec![0; size.len()],
            bound: vec![0; size.len()],
            dirty: vec![true; sections.len()],
            trail: Vec::new(),
            level: vec![0; size.len()],
            depth: 0,
            why: vec![Levels::none(size.len()); size.len()],
            conflict: Levels::none(size.len()),
            failed: HashSet::new(),
            size,
            span,
            sections,
            neighbours,
            placed,
            remaining,
        }
    }

    /// Searches with one ranking, for so many nodes more.
    pub(super) fn run(&mut self, intervals: &[Interval], ranking: Ranking, nodes: u64) -> Verdict {
        self.rank = ranks(intervals, &self.total, ranking);
        self.limit = self.nodes + nodes;
        let all: Vec<usize> = (0..self.size.len()).filter(|&index| !self.placed[index]).collect();
        let mark = self.trail.len();
        let outcome = if self.tighten(&all) { self.solve_parts(&all) } else { Outcome::Failed };
        match outcome {
            Outcome::Solved => Verdict::Placed(self.offset.iter().map(|&offset| Offset(offset)).collect()),
            Outcome::Failed => Verdict::Impossible,
            Outcome::OutOfNodes => {
                self.rewind(mark);
                self.dirty.fill(true);
                Verdict::GaveUp
            }
        }
    }

    /// Solves independent parts one after another; all must succeed.
    fn solve_parts(&mut self, all: &[usize]) -> Outcome {
        let parts = if self.ideas.decomposition { self.parts(all) } else { vec![all.to_vec()] };
        let mark = self.trail.len();
        for (index, part) in parts.iter().enumerate() {
            let outcome = self.solve(part);
            if outcome != Outcome::Solved {
                for solved in &parts[..index] {
                    self.unplace(solved);
                }
                self.rewind(mark);
                return outcome;
            }
        }
        Outcome::Solved
    }

    /// Places all of a part, unless it is known to fail.
    fn solve(&mut self, part: &[usize]) -> Outcome {
        if part.is_empty() {
            return Outcome::Solved;
        }
        let key = self.key(part);
        if self.ideas.memory && self.failed.contains(&key) {
            self.explain_part(part);
            return Outcome::Failed;
        }
        let mark = self.trail.len();
        let outcome = self.branch(part);
        if outcome != Outcome::Solved {
            self.rewind(mark);
        }
        if self.ideas.memory && outcome == Outcome::Failed {
            self.failed.insert(key);
        }
        outcome
    }

    /// Places one after another interval at its offset, or passes it over, until all of a part is placed.
    fn branch(&mut self, part: &[usize]) -> Outcome {
        while let Some(index) = self.next(part) {
            if self.offset[index] + self.size[index] > self.capacity {
                self.conflict.clone_from(&self.why[index]);
                return Outcome::Failed;
            }
            if self.nodes >= self.limit {
                return Outcome::OutOfNodes;
            }
            self.nodes += 1;
            let mark = self.trail.len();
            let rest: Vec<usize> = part.iter().copied().filter(|&other| other != index).collect();
            self.place(index);
            let fits = self.tighten(&rest);
            let outcome = if fits { self.solve_parts(&rest) } else { Outcome::Failed };
            if outcome == Outcome::Solved {
                return outcome;
            }
            self.unplace(&[index]);
            self.rewind(mark);
            if outcome == Outcome::OutOfNodes {
                return outcome;
            }
            if self.ideas.backjumps && !self.conflict.contains(self.depth) {
                return Outcome::Failed;
            }
            self.conflict.remove(self.depth);
            self.pass_over(index, part);
            if !self.tighten(part) {
                return Outcome::Failed;
            }
        }
        self.conflict.fill();
        Outcome::Failed
    }

    /// What is known to fail fails because of its bounds and because of what it could lie on.
    fn explain_part(&mut self, part: &[usize]) {
        let mut conflict = std::mem::take(&mut self.conflict);
        conflict.clear();
        part.iter().for_each(|&index| self.explain_support(index, &mut conflict));
        self.conflict = conflict;
    }

    /// Adds why an interval lies as high as it does, and why it cannot lie on what is placed.
    fn explain_support(&self, index: usize, reason: &mut Levels) {
        reason.add(&self.why[index]);
        for &other in self.neighbours[index].iter().filter(|&&other| self.placed[other]) {
            reason.insert(self.level[other]);
        }
    }

    /// What is decided next: what can lie lowest on what is placed, so that nothing left can lie below it.
    fn next(&self, part: &[usize]) -> Option<usize> {
        let supported = part.iter().copied().filter(|&index| self.bound[index] == self.offset[index]);
        supported.min_by_key(|&index| (self.offset[index], self.rank[index]))
    }

    /// A hash of what is left and how low it can lie.
    fn key(&self, part: &[usize]) -> u64 {
        let mix = |hash: u64, value: u64| {
            let hash = (hash ^ value).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash ^ (hash >> 29)
        };
        let one = |&index: &usize| {
            mix(mix(mix(0x9e37_79b9_7f4a_7c15, index as u64), self.offset[index]), self.bound[index])
        };
        part.iter().map(one).fold(0, u64::wrapping_add)
    }

    /// Groups of intervals that have no time in common with those of another group.
    fn parts(&self, all: &[usize]) -> Vec<Vec<usize>> {
        let mut sorted = all.to_vec();
        sorted.sort_unstable_by_key(|&index| self.span[index]);
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut end = 0;
        for index in sorted {
            match parts.last_mut().filter(|_| self.span[index].0 < end) {
                Some(part) => part.push(index),
                None => parts.push(vec![index]),
            }
            end = end.max(self.span[index].1);
        }
        parts
    }
}

/// The sections each interval is live in, half-open.
fn spans(intervals: &[Interval]) -> Vec<(usize, usize)> {
    let mut times: Vec<u32> = intervals.iter().flat_map(|i| [i.live.start, i.live.end]).collect();
    times.sort_unstable();
    times.dedup();
    let section = |time: u32| times.partition_point(|&other| other < time);
    intervals.iter().map(|i| (section(i.live.start), section(i.live.end))).collect()
}

fn neighbours(index: usize, span: &[(usize, usize)], placed: &[bool]) -> Vec<usize> {
    let overlap = |other: usize| span[index].0 < span[other].1 && span[other].0 < span[index].1;
    match placed[index] {
        true => Vec::new(),
        false => {
            (0..span.len()).filter(|&other| other != index && !placed[other] && overlap(other)).collect()
        }
    }
}
