//! Addresses as a layout shows them: regions one above another, without the space between them that belongs to nobody.

use super::LARGEST;
use plimsoll_trace::{Event, Trace, What};
use std::ops::Range;

/// The stretches of the address space that are shown, ascending, with what lies before each.
pub(super) struct Space {
    stretches: Vec<(Range<u64>, u64)>,
}

impl Space {
    /// Where regions are known, they are the stretches. Otherwise a gap is left out only if it is larger than
    /// everything that is used: smaller ones are what a layout is looked at for. Blocks that end beyond any address are
    /// left to whoever reads the events.
    pub(super) fn of(trace: &Trace) -> Self {
        let mut regions: Vec<Range<u64>> = (trace.marks.iter())
            .filter_map(|mark| match mark.what {
                What::Region { offset, bytes } => Some(offset.0..offset.0.checked_add(bytes.0)?),
                _ => None,
            })
            .collect();
        let known = !regions.is_empty();
        regions.extend(trace.events.iter().filter_map(|event| match event {
            Event::Take { offset, bytes, .. } => Some(offset.0..offset.0.checked_add(bytes.0)?),
            Event::Free { .. } => None,
        }));
        regions.retain(|range| !range.is_empty());
        let joined = joined(regions);
        let used = joined.iter().map(|range| range.end - range.start).fold(0u64, u64::saturating_add);
        Self { stretches: stacked(joined, if known { 0 } else { used }) }
    }

    /// Where an address is shown.
    pub(super) fn place(&self, address: u64) -> u64 {
        let after = self.stretches.partition_point(|(range, _)| range.start <= address);
        match after.checked_sub(1).map(|index| &self.stretches[index]) {
            Some((range, base)) => base.saturating_add(address - range.start),
            None => address.min(LARGEST),
        }
    }
}

/// Ranges that touch or overlap, as one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

/// Puts ranges above each other; a gap of at most `allowed` bytes stays.
fn stacked(ranges: Vec<Range<u64>>, allowed: u64) -> Vec<(Range<u64>, u64)> {
    let mut stretches: Vec<(Range<u64>, u64)> = Vec::new();
    let (mut before, mut base) = (0, 0u64);
    for range in ranges {
        let gap = range.start - before;
        if gap <= allowed {
            base = base.saturating_add(gap);
        }
        before = range.end;
        let bytes = range.end - range.start;
        stretches.push((range, base));
        base = base.saturating_add(bytes);
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::{BlockId, Bytes, Label, Offset, Time};

    const TIB: u64 = 1 << 40;

    fn trace(blocks: &[(u64, u64)], regions: &[(u64, u64)]) -> Trace {
        let mut trace = Trace::default();
        let label = trace.add_label(Label::default());
        for &(offset, bytes) in regions {
            trace.mark(What::Region { offset: Offset(offset), bytes: Bytes(bytes) });
        }
        for (block, &(offset, bytes)) in (0..).zip(blocks) {
            let (block, offset, bytes) = (BlockId(block), Offset(offset), Bytes(bytes));
            trace.events.push(Event::Take { time: Time(0), block, offset, bytes, label });
        }
        trace
    }

    #[test]
    fn regions_lie_one_above_another() {
        let space =
            Space::of(&trace(&[(10, 5), (TIB + 3, 5)], &[(0, 64), (TIB, 32), (2 * TIB, 32), (TIB, 0)]));
        assert_eq!([10, TIB, TIB + 3, 2 * TIB].map(|address| space.place(address)), [10, 64, 67, 96]);
    }

    #[test]
    fn without_regions_only_large_gaps_are_left_out() {
        let space = Space::of(&trace(&[(TIB, 100), (TIB + 150, 100), (9 * TIB, 10)], &[]));
        assert_eq!([TIB, TIB + 150, 9 * TIB].map(|address| space.place(address)), [0, 150, 250]);
        let dense = Space::of(&trace(&[(50, 100), (170, 10)], &[]));
        assert_eq!([50, 170].map(|address| dense.place(address)), [50, 170]);
        assert_eq!(Space::of(&trace(&[(u64::MAX, 8)], &[])).place(u64::MAX), LARGEST);
    }
}
