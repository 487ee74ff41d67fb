//! Exact placement: a search for offsets that stay below a capacity, or a proof that there are none.
//!
//! In: intervals and a capacity. Out: a verdict and the number of nodes it took. Effort is limited in nodes.
//! Method: depth first; every node picks the interval that is placed next, at the lowest offset its neighbours leave it. The ideas that
//! keep the tree small follow Moffitt, MiniMalloc (ASPLOS 2023); each is a switch in [`Ideas`], and tests run all combinations, which must
//! agree on the verdict.

mod tighten;

use super::ranking::ranks;
use super::{Interval, Ranking};
use plimsoll_trace::{Bytes, Offset};

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
    /// Intervals are placed from low to high, ties by rank: every placement is met in one order only.
    pub canonical: bool,
    /// An interval is not placed where another would fit wholly below it: that one could as well go first.
    pub dominance: bool,
    /// A section (a time during which nothing begins or ends) must have room for all that is still to come, above the lowest offset
    /// any of it can have.
    pub section_bound: bool,
    /// What has no neighbour in time left to place is solved apart from the rest, so a failure in one part does not repeat the others.
    pub decomposition: bool,
    /// If an interval that nobody left overlaps leads to a failure, its offset was not the reason, and other choices at this node
    /// would fail as well.
    pub hatless: bool,
    /// Where an interval cannot be the lowest of some that live in one section, because all of them above it would not fit, it is
    /// lifted above the one that can end first (the not-first rule of scheduling). What is lifted above its support is not placed yet.
    pub not_first: bool,
    /// An interval that was passed over at its offset needs something new below it; it is lifted above what can end first of what is left.
    pub passed_over: bool,
}

impl Ideas {
    /// All of them.
    pub const ALL: Ideas = Ideas {
        canonical: true,
        dominance: true,
        section_bound: true,
        decomposition: true,
        hatless: true,
        not_first: true,
        passed_over: true,
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
    let mut search = Search::new(intervals, capacity.0, ranking, ideas, nodes);
    let all: Vec<usize> = (0..intervals.len()).filter(|&index| !search.placed[index]).collect();
    search.dirty.fill(true);
    let outcome = if search.tighten(&all, 0, 0) { search.solve_parts(&all, 0, 0) } else { Outcome::Failed };
    let verdict = match outcome {
        Outcome::Solved => Verdict::Placed(search.offset.iter().map(|&offset| Offset(offset)).collect()),
        Outcome::Failed => Verdict::Impossible,
        Outcome::OutOfNodes => Verdict::GaveUp,
    };
    Searched { verdict, nodes: search.nodes }
}

/// How the search for a part ended. After anything but success, the state is as it was before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Solved,
    Failed,
    OutOfNodes,
}

/// The state of a search.
struct Search {
    capacity: u64,
    ideas: Ideas,
    limit: u64,
    nodes: u64,
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
    /// Offsets to be put back on the way up.
    trail: Vec<(usize, u64, u64)>,
}

impl Search {
    fn new(intervals: &[Interval], capacity: u64, ranking: Ranking, ideas: Ideas, limit: u64) -> Self {
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
            limit,
            nodes: 0,
            rank: ranks(intervals, &total, ranking),
            offset: vec![0; size.len()],
            bound: vec![0; size.len()],
            dirty: vec![false; sections.len()],
            trail: Vec::new(),
            size,
            span,
            sections,
            neighbours,
            placed,
            remaining,
        }
    }

    /// Solves independent parts one after another; all must succeed.
    fn solve_parts(&mut self, all: &[usize], lowest: u64, lowest_rank: usize) -> Outcome {
        let parts = if self.ideas.decomposition { self.parts(all) } else { vec![all.to_vec()] };
        let mark = self.trail.len();
        for (index, part) in parts.iter().enumerate() {
            let outcome = self.solve(part, lowest, lowest_rank);
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

    /// Places all of a part, each at or above `lowest`.
    fn solve(&mut self, part: &[usize], lowest: u64, lowest_rank: usize) -> Outcome {
        if part.is_empty() {
            return Outcome::Solved;
        }
        for index in self.candidates(part, lowest, lowest_rank) {
            if self.nodes >= self.limit {
                return Outcome::OutOfNodes;
            }
            self.nodes += 1;
            let mark = self.trail.len();
            self.place(index);
            let rest: Vec<usize> = part.iter().copied().filter(|&other| other != index).collect();
            let (offset, rank) =
                if self.ideas.canonical { (self.offset[index], self.rank[index]) } else { (0, 0) };
            let holds =
                self.offset[index] + self.size[index] <= self.capacity && self.tighten(&rest, offset, rank);
            let outcome = if holds { self.solve_parts(&rest, offset, rank) } else { Outcome::Failed };
            if outcome == Outcome::Solved {
                return Outcome::Solved;
            }
            let hatless = self.neighbours[index].iter().all(|&other| self.placed[other]);
            self.unplace(&[index]);
            self.rewind(mark);
            if outcome == Outcome::OutOfNodes || (self.ideas.hatless && hatless && holds) {
                return outcome;
            }
        }
        Outcome::Failed
    }

    /// What may be placed next, most promising first.
    fn candidates(&self, part: &[usize], lowest: u64, lowest_rank: usize) -> Vec<usize> {
        let open = |&index: &usize| match self.ideas.canonical {
            true => (self.offset[index], self.rank[index]) >= (lowest, lowest_rank),
            false => true,
        };
        let ceiling = part.iter().map(|&index| self.offset[index] + self.size[index]).min();
        let dominated = |&index: &usize| self.ideas.dominance && Some(self.offset[index]) >= ceiling;
        let lifted = |&index: &usize| self.bound[index] > self.offset[index];
        let mut candidates: Vec<usize> =
            part.iter().copied().filter(open).filter(|index| !dominated(index) && !lifted(index)).collect();
        candidates.sort_unstable_by_key(|&index| (self.offset[index], self.rank[index]));
        candidates
    }

    /// Places an interval at its lowest offset and lifts its neighbours above it.
    fn place(&mut self, index: usize) {
        self.placed[index] = true;
        let (first, end) = self.span[index];
        for section in first..end {
            self.remaining[section] -= self.size[index];
            self.dirty[section] = true;
        }
        let top = self.offset[index] + self.size[index];
        for neighbour in 0..self.neighbours[index].len() {
            let other = self.neighbours[index][neighbour];
            if !self.placed[other] && self.offset[other] < top {
                self.trail.push((other, self.offset[other], self.bound[other]));
                self.offset[other] = top;
                self.raise(other, top);
            }
        }
    }

    /// Raises the bound of an interval; the caller remembers the old one.
    fn raise(&mut self, index: usize, bound: u64) {
        if bound > self.bound[index] {
            self.bound[index] = bound;
            let (first, end) = self.span[index];
            self.dirty[first..end].fill(true);
        }
    }

    fn unplace(&mut self, part: &[usize]) {
        for &index in part {
            self.placed[index] = false;
            let (first, end) = self.span[index];
            for section in first..end {
                self.remaining[section] += self.size[index];
            }
        }
    }

    fn rewind(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let (index, offset, bound) = self.trail.pop().expect("the trail is longer than the mark");
            self.offset[index] = offset;
            self.bound[index] = bound;
        }
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
