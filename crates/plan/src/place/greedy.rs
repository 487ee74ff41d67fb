//! Offsets in a given order: each interval at the lowest offset that is free for its whole life.

use super::occupied::Occupied;
use super::{Interval, Placement};
use plimsoll_trace::{Bytes, Offset};

/// A greedy placement that can be made again and again in other orders.
pub(super) struct Greedy<'a> {
    intervals: &'a [Interval],
    floor: Bytes,
    occupied: Occupied,
}

impl<'a> Greedy<'a> {
    /// Gets ready.
    pub(super) fn new(intervals: &'a [Interval]) -> Self {
        Self { intervals, floor: super::floor(intervals), occupied: Occupied::new(intervals) }
    }

    /// Places one after another.
    pub(super) fn place(&mut self, order: &[usize]) -> Placement {
        self.occupied.clear();
        let mut offsets = vec![Offset::START; self.intervals.len()];
        let mut peak = Bytes::ZERO;
        for &index in order {
            let interval = &self.intervals[index];
            // What takes nothing is in nobody's way.
            if interval.bytes == Bytes::ZERO {
                continue;
            }
            let offset = self.occupied.lowest_free(interval);
            self.occupied.take(interval, offset);
            offsets[index] = Offset(offset);
            peak = peak.max(Bytes(offset + interval.bytes.0));
        }
        Placement { offsets, peak, floor: self.floor, nodes: 0 }
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
