//! Offsets as time goes: best fit, which needs only what is live now and is fast for any number of intervals.

use super::{Interval, Placement};
use plimsoll_trace::{Bytes, Offset};
use std::collections::{BTreeMap, BTreeSet};

/// Places each interval when its life begins, in the smallest gap that is large enough, and on top where there is none.
pub(super) fn place(intervals: &[Interval]) -> Placement {
    let mut offsets = vec![Offset::START; intervals.len()];
    let mut gaps = Gaps::default();
    for (_, begins, index) in changes(intervals) {
        let bytes = intervals[index].bytes.0;
        match begins {
            true => offsets[index] = Offset(gaps.take(bytes)),
            false => gaps.free(offsets[index].0, bytes),
        }
    }
    Placement { offsets, peak: Bytes(gaps.highest), floor: super::floor(intervals), nodes: 0 }
}

/// Ends and begins in order; at the same step ends come first, because lives are half-open.
fn changes(intervals: &[Interval]) -> Vec<(u32, bool, usize)> {
    let lives = intervals.iter().enumerate().filter(|(_, interval)| !interval.live.is_empty());
    let ends = |(index, interval): (usize, &Interval)| {
        [(interval.live.start, true, index), (interval.live.end, false, index)]
    };
    let mut changes: Vec<_> = lives.flat_map(ends).collect();
    changes.sort_unstable();
    changes
}

/// What is free below the highest end so far.
#[derive(Default)]
struct Gaps {
    by_offset: BTreeMap<u64, u64>,
    by_bytes: BTreeSet<(u64, u64)>,
    highest: u64,
}

impl Gaps {
    fn take(&mut self, bytes: u64) -> u64 {
        let fitting = self.by_bytes.range((bytes, 0)..).next().copied();
        let (length, offset) = fitting.unwrap_or_else(|| self.top());
        if length > 0 {
            self.remove(offset, length);
        }
        self.highest = self.highest.max(offset + bytes);
        if length > bytes {
            self.add(offset + bytes, length - bytes);
        }
        offset
    }

    /// The gap that reaches the highest end, or an empty one there.
    fn top(&self) -> (u64, u64) {
        let last = self.by_offset.last_key_value().map(|(&offset, &length)| (length, offset));
        last.filter(|(length, offset)| offset + length == self.highest).unwrap_or((0, self.highest))
    }

    fn free(&mut self, offset: u64, bytes: u64) {
        let (mut start, mut end) = (offset, offset + bytes);
        if let Some((&below, &length)) =
            self.by_offset.range(..start).next_back().filter(|(below, length)| *below + *length == offset)
        {
            self.remove(below, length);
            start = below;
        }
        if let Some(&length) = self.by_offset.get(&end) {
            self.remove(end, length);
            end += length;
        }
        if end > start {
            self.add(start, end - start);
        }
    }

    fn add(&mut self, offset: u64, length: u64) {
        self.by_offset.insert(offset, length);
        self.by_bytes.insert((length, offset));
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.by_offset.remove(&offset);
        self.by_bytes.remove(&(length, offset));
    }
}
