//! Offsets in a given order: each interval at the lowest offset that is free for its whole life.
//!
//! Time is cut into slices, and each slice keeps what is placed in it, so that a short life is compared with its slice
//! only.

use super::{Interval, Placement};
use plimsoll_trace::{Bytes, Offset};
use std::ops::Range;

/// About how many intervals begin in a slice.
const IN_A_SLICE: usize = 512;

/// A greedy placement that can be made again and again in other orders.
pub(super) struct Greedy<'a> {
    intervals: &'a [Interval],
    floor: Bytes,
    /// For each interval, the slices it lives in.
    slices: Vec<Range<usize>>,
    /// For each slice, what is placed in it, by offset.
    placed: Vec<Vec<Rectangle>>,
    /// All that is placed, by offset.
    all: Vec<Rectangle>,
}

/// A part of space and time that is taken.
#[derive(Clone, Copy)]
struct Rectangle {
    start: u64,
    end: u64,
    from: u32,
    until: u32,
}

impl<'a> Greedy<'a> {
    /// Cuts time into slices.
    pub(super) fn new(intervals: &'a [Interval]) -> Self {
        let mut starts: Vec<u32> = intervals.iter().map(|interval| interval.live.start).collect();
        starts.sort_unstable();
        let mut cuts: Vec<u32> = starts.iter().copied().skip(IN_A_SLICE).step_by(IN_A_SLICE).collect();
        cuts.dedup();
        let slices = intervals.iter().map(|Interval { live, .. }| {
            let first = cuts.partition_point(|&cut| cut <= live.start);
            first..first.max(cuts.partition_point(|&cut| cut < live.end)) + 1
        });
        Self {
            slices: slices.collect(),
            placed: vec![Vec::new(); cuts.len() + 1],
            all: Vec::new(),
            floor: super::floor(intervals),
            intervals,
        }
    }

    /// Places one after another.
    pub(super) fn place(&mut self, order: &[usize]) -> Placement {
        self.placed.iter_mut().for_each(Vec::clear);
        self.all.clear();
        let mut offsets = vec![Offset::START; self.intervals.len()];
        let mut peak = Bytes::ZERO;
        for &index in order {
            let offset = self.lowest_free(index);
            self.take(index, offset);
            offsets[index] = Offset(offset);
            peak = peak.max(Bytes(offset + self.intervals[index].bytes.0));
        }
        Placement { offsets, peak, floor: self.floor, nodes: 0 }
    }

    fn lowest_free(&mut self, index: usize) -> u64 {
        let Interval { live, bytes } = &self.intervals[index];
        let slices = self.slices[index].clone();
        let meets = |other: &&Rectangle| other.from < live.end && live.start < other.until;
        if slices.len() == 1 {
            let others = self.placed[slices.start].iter().filter(meets);
            return first_gap(others.map(|other| (other.start, other.end)), bytes.0);
        }
        first_gap(self.all.iter().filter(meets).map(|other| (other.start, other.end)), bytes.0)
    }

    fn take(&mut self, index: usize, offset: u64) {
        let Interval { live, bytes } = &self.intervals[index];
        let taken = Rectangle { start: offset, end: offset + bytes.0, from: live.start, until: live.end };
        let slices = self.placed[self.slices[index].clone()].iter_mut();
        for slice in slices.chain([&mut self.all]) {
            let at = slice.partition_point(|other| other.start < offset);
            slice.insert(at, taken);
        }
    }
}

/// The lowest offset with room for so many bytes between rectangles that come by offset.
pub(super) fn first_gap(others: impl Iterator<Item = (u64, u64)>, bytes: u64) -> u64 {
    let mut offset = 0;
    for (start, end) in others {
        if start >= offset + bytes {
            break;
        }
        offset = offset.max(end);
    }
    offset
}
