//! What is taken of space and time, as an index that finds the lowest free place.
//!
//! Time is cut into slices, and a tree stands over them. Each node keeps the offsets that are taken through all of its
//! time, and those that are taken at any moment of it, with neighbours joined: where things lie close these are few
//! ranges, however many things there are. A life is its first slice, its last one, and a few nodes for what lies
//! between; only in these two slices things are compared one by one. So a question takes about the logarithm of how
//! many things there are.

use super::Interval;
use std::ops::Range;

/// About how many intervals begin in a slice.
const IN_A_SLICE: usize = 64;

/// Space and time, with what is taken of it.
pub(super) struct Occupied {
    /// Where each slice but the first begins.
    cuts: Vec<u32>,
    /// Slices stand in the second half, in their order; the parent of node `n` is node `n / 2`.
    nodes: Vec<Node>,
}

/// One slice of time, or two nodes together.
#[derive(Clone, Default)]
struct Node {
    /// Taken through all of the time.
    through: Vec<Taken>,
    /// Taken at some moment of it.
    ever: Vec<Taken>,
    /// Only in slices: what begins or ends here, by offset.
    single: Vec<(Taken, Range<u32>)>,
}

/// A range of offsets.
#[derive(Clone, Copy)]
struct Taken {
    start: u64,
    end: u64,
}

impl Occupied {
    /// Room for intervals, nothing of it taken.
    pub(super) fn new(intervals: &[Interval]) -> Self {
        let mut starts: Vec<u32> = intervals.iter().map(|interval| interval.live.start).collect();
        starts.sort_unstable();
        let mut cuts: Vec<u32> = starts.iter().copied().skip(IN_A_SLICE).step_by(IN_A_SLICE).collect();
        cuts.dedup();
        let slices = (cuts.len() + 1).next_power_of_two();
        Self { cuts, nodes: vec![Node::default(); 2 * slices] }
    }

    /// Nothing is taken any more.
    pub(super) fn clear(&mut self) {
        for Node { through, ever, single } in &mut self.nodes {
            through.clear();
            ever.clear();
            single.clear();
        }
    }

    /// The lowest offset with room for an interval.
    pub(super) fn lowest_free(&self, Interval { live, bytes }: &Interval) -> u64 {
        let (first, last) = self.slices(live);
        let mut joined: Vec<&[Taken]> = Vec::with_capacity(64);
        self.ways_up(first, last, |node| joined.push(&self.nodes[node].through));
        between(first, last, |node| joined.push(&self.nodes[node].ever));
        joined.retain(|ranges| !ranges.is_empty());
        let mut single =
            [&self.nodes[first].single[..], if first == last { &[] } else { &self.nodes[last].single }];
        let meets = |other: &Range<u32>| other.start < live.end && live.start < other.end;
        let mut offset = 0;
        loop {
            let before = offset;
            for ranges in &mut joined {
                pass(ranges, &mut offset, bytes.0, |range| Some(*range));
            }
            for ranges in &mut single {
                pass(ranges, &mut offset, bytes.0, |(range, other)| meets(other).then_some(*range));
            }
            if offset == before {
                return offset;
            }
        }
    }

    /// Takes a place for an interval.
    pub(super) fn take(&mut self, interval: &Interval, offset: u64) {
        let taken = Taken { start: offset, end: offset + interval.bytes.0 };
        let (first, last) = self.slices(&interval.live);
        let mut above = Vec::with_capacity(64);
        self.ways_up(first, last, |node| above.push(node));
        above.into_iter().for_each(|node| join(&mut self.nodes[node].ever, taken));
        between(first, last, |node| {
            join(&mut self.nodes[node].ever, taken);
            join(&mut self.nodes[node].through, taken);
        });
        for slice in if first == last { vec![first] } else { vec![first, last] } {
            let single = &mut self.nodes[slice].single;
            let at = single.partition_point(|(other, _)| other.start < offset);
            single.insert(at, (taken, interval.live.clone()));
        }
    }

    /// The nodes of the slices in which a life begins and ends.
    fn slices(&self, live: &Range<u32>) -> (usize, usize) {
        let first = self.cuts.partition_point(|&cut| cut <= live.start);
        let last = self.cuts.partition_point(|&cut| cut < live.end).max(first);
        (self.nodes.len() / 2 + first, self.nodes.len() / 2 + last)
    }

    /// Two slices and every node above them, each once.
    fn ways_up(&self, first: usize, last: usize, mut visit: impl FnMut(usize)) {
        let (mut left, mut right) = (first, last);
        while left > 0 {
            visit(left);
            if left != right {
                visit(right);
            }
            (left, right) = (left / 2, right / 2);
        }
    }
}

/// The fewest nodes that are all slices between two.
fn between(first: usize, last: usize, mut visit: impl FnMut(usize)) {
    let (mut left, mut right) = (first, last);
    while left / 2 != right / 2 {
        if left % 2 == 0 {
            visit(left + 1);
        }
        if right % 2 == 1 {
            visit(right - 1);
        }
        (left, right) = (left / 2, right / 2);
    }
}

/// Moves an offset above whatever is in the way of so many bytes, and drops what it has passed.
fn pass<T>(ranges: &mut &[T], offset: &mut u64, bytes: u64, in_the_way: impl Fn(&T) -> Option<Taken>)
where
    T: Starts,
{
    while let Some((range, others)) =
        ranges.split_first().filter(|(range, _)| range.start() < *offset + bytes)
    {
        *ranges = others;
        if let Some(taken) = in_the_way(range) {
            *offset = taken.end.max(*offset);
        }
    }
}

/// Something that begins at an offset.
trait Starts {
    fn start(&self) -> u64;
}

impl Starts for Taken {
    fn start(&self) -> u64 {
        self.start
    }
}

impl Starts for (Taken, Range<u32>) {
    fn start(&self) -> u64 {
        self.0.start
    }
}

/// Adds a range to others that lie apart, and joins what touches.
fn join(ranges: &mut Vec<Taken>, taken: Taken) {
    let first = ranges.partition_point(|other| other.end < taken.start);
    let behind = ranges.partition_point(|other| other.start <= taken.end);
    if first == behind {
        ranges.insert(first, taken);
        return;
    }
    let start = ranges[first].start.min(taken.start);
    let end = ranges[behind - 1].end.max(taken.end);
    ranges[first] = Taken { start, end };
    ranges.drain(first + 1..behind);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::Bytes;
    use proptest::prelude::*;

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let one = (0u32..900, 1u32..400, 0u64..9).prop_map(|(start, length, bytes)| Interval {
            live: start..start + 1 + length * length * length / 80_000,
            bytes: Bytes(bytes * bytes),
        });
        proptest::collection::vec(one, 0..400)
    }

    proptest! {
        #[test]
        fn the_lowest_free_place_is_what_comparing_with_everything_finds(intervals in intervals()) {
            let mut occupied = Occupied::new(&intervals);
            let mut placed: Vec<(u64, &Interval)> = Vec::new();
            for interval in &intervals {
                let meets = |other: &Interval| other.live.start < interval.live.end && interval.live.start < other.live.end;
                placed.sort_by_key(|(offset, _)| *offset);
                let others = placed.iter().filter(|(_, other)| meets(other) && other.bytes > Bytes::ZERO);
                let expected = super::super::greedy::first_gap(
                    others.map(|(offset, other)| (*offset, offset + other.bytes.0)), interval.bytes.0);
                prop_assert_eq!(occupied.lowest_free(interval), expected);
                occupied.take(interval, expected);
                placed.push((expected, interval));
            }
        }
    }
}
