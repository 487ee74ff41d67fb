//! Memory that a device reserved at once and cuts into pieces.
//!
//! Equations: `free + sum(taken) = length`; `reserved = length - sum(returned)`; taken and returned ranges do not
//! overlap. Pieces begin at multiples of a granule, so that what lies between them is whole pages and can be returned.

#![allow(unsafe_code)]

use crate::mapping::Mapping;
use plimsoll_trace::{Bytes, Offset};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A multiple of every page size in use.
const GRANULE: u64 = 64 << 10;

/// One mapping and what is taken of it.
#[derive(Debug)]
pub(crate) struct Reserve {
    mapping: Arc<Mapping>,
    /// Start to end of what pieces have.
    taken: BTreeMap<u64, u64>,
    /// What the operating system has again; sorted.
    returned: Vec<Range<u64>>,
    /// Nothing was ever taken at or above this offset, so everything there is still zero.
    untouched: u64,
}

impl Reserve {
    pub(crate) fn new(mapping: Mapping) -> Self {
        let (taken, returned) = (BTreeMap::new(), Vec::new());
        Self { mapping: Arc::new(mapping), taken, returned, untouched: 0 }
    }

    /// The mapping and the offset of a range of zeros in it, at the first place that is long enough.
    pub(crate) fn take(&mut self, bytes: Bytes) -> Option<(Arc<Mapping>, Offset)> {
        let place = self.free_ranges().into_iter().find(|range| range.end - range.start >= bytes.0)?;
        let end = (place.start + bytes.0.max(1)).next_multiple_of(GRANULE).min(self.length());
        let range = place.start..end;
        let used_before = self.untouched.min(end).saturating_sub(range.start);
        // SAFETY: the range was free, so nobody holds a reference into it.
        unsafe { self.mapping.zero(Offset(range.start), Bytes(used_before)) };
        self.untouched = self.untouched.max(end);
        self.returned = self.returned.iter().flat_map(|returned| without(returned, &range)).collect();
        self.taken.insert(range.start, range.end);
        Some((self.mapping.clone(), Offset(range.start)))
    }

    /// Takes a range back; its pages stay reserved.
    pub(crate) fn give_back(&mut self, start: Offset) {
        self.taken.remove(&start.0);
    }

    /// Returns all free pages to the operating system, and says how much that was.
    pub(crate) fn release(&mut self) -> Bytes {
        let before = self.reserved();
        for range in self.free_ranges() {
            let bytes = Bytes(range.end - range.start);
            // SAFETY: the range is free and made of whole pages, so nobody holds a reference into them.
            let gone = unsafe { self.mapping.discard(Offset(range.start), bytes) };
            if gone {
                self.returned.retain(|returned| returned.end <= range.start || range.end <= returned.start);
                self.returned.push(range);
            }
        }
        self.returned.sort_by_key(|range| range.start);
        before - self.reserved()
    }

    pub(crate) fn is_of(&self, mapping: &Arc<Mapping>) -> bool {
        Arc::ptr_eq(&self.mapping, mapping)
    }

    /// What the operating system holds for us.
    pub(crate) fn reserved(&self) -> Bytes {
        Bytes(self.length() - self.returned.iter().map(|range| range.end - range.start).sum::<u64>())
    }

    /// The longest free range.
    pub(crate) fn largest_free(&self) -> Bytes {
        Bytes(self.free_ranges().iter().map(|range| range.end - range.start).max().unwrap_or(0))
    }

    pub(crate) fn length(&self) -> u64 {
        self.mapping.bytes().0
    }

    /// What lies between the pieces, from low to high.
    fn free_ranges(&self) -> Vec<Range<u64>> {
        let starts = std::iter::once(0).chain(self.taken.values().copied());
        let ends = self.taken.keys().copied().chain(std::iter::once(self.length()));
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
    }
}

/// A range without another: none, one or two ranges.
fn without(range: &Range<u64>, other: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let below = range.start..range.end.min(other.start);
    let above = range.start.max(other.end)..range.end;
    [below, above].into_iter().filter(|range| !range.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve(granules: u64) -> Reserve {
        Reserve::new(Mapping::lazy(Bytes(granules * GRANULE)).unwrap())
    }

    fn start(taken: Option<(Arc<Mapping>, Offset)>) -> Option<u64> {
        taken.map(|(_, offset)| offset.0 / GRANULE)
    }

    #[test]
    fn pieces_go_to_the_first_place_that_is_long_enough() {
        let mut reserve = reserve(8);
        let starts = [1, GRANULE, 3 * GRANULE - 5].map(|bytes| start(reserve.take(Bytes(bytes))));
        assert_eq!(starts, [Some(0), Some(1), Some(2)]);
        reserve.give_back(Offset(GRANULE));
        assert_eq!(reserve.largest_free(), Bytes(3 * GRANULE));
        assert_eq!(start(reserve.take(Bytes(2 * GRANULE))), Some(5));
        assert_eq!(start(reserve.take(Bytes(2 * GRANULE))), None);
        assert_eq!(start(reserve.take(Bytes(GRANULE))), Some(1));
    }

    #[test]
    fn a_reserve_that_is_no_multiple_of_a_granule_can_be_used_up() {
        let mut reserve = Reserve::new(Mapping::lazy(Bytes(GRANULE + 100)).unwrap());
        assert_eq!(start(reserve.take(Bytes(GRANULE + 100))), Some(0));
        assert_eq!(reserve.largest_free(), Bytes::ZERO);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_returned_is_counted_and_comes_back_as_zeros() {
        let mut reserve = reserve(4);
        let (mapping, first) = reserve.take(Bytes(GRANULE)).unwrap();
        let (_, second) = reserve.take(Bytes(GRANULE)).unwrap();
        // SAFETY: nobody else looks at the range.
        unsafe { mapping.pointer(second).unwrap().write_bytes(7, GRANULE as usize) };
        reserve.give_back(first);
        assert_eq!(reserve.release(), Bytes(3 * GRANULE));
        assert_eq!((reserve.reserved(), reserve.release()), (Bytes(GRANULE), Bytes::ZERO));
        reserve.give_back(second);
        assert_eq!(start(reserve.take(Bytes(2 * GRANULE))), Some(0));
        assert_eq!(reserve.reserved(), Bytes(2 * GRANULE));
        // SAFETY: nobody else looks at the range.
        assert_eq!(unsafe { mapping.pointer(second).unwrap().read() }, 0);
    }
}
