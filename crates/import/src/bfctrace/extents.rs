//! All addresses that blocks ever had, as ranges that do not overlap.

use std::collections::BTreeMap;

/// Ranges by their start: where each ends. Ranges that only touch stay apart, so that what lies between the ends of one
/// lies inside of a block.
#[derive(Default)]
pub(super) struct Extents(BTreeMap<u64, u64>);

impl Extents {
    /// Adds the range of a block.
    pub(super) fn add(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        while let Some((&other, &other_end)) =
            self.0.range(..end).next_back().filter(|(_, other_end)| **other_end > start)
        {
            self.0.remove(&other);
            (start, end) = (start.min(other), end.max(other_end));
        }
        self.0.insert(start, end);
    }

    /// The start of the range that an address lies inside of, not at its start.
    pub(super) fn around(&self, address: u64) -> Option<u64> {
        let (&start, _) = self.0.range(..address).next_back().filter(|(_, end)| **end > address)?;
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_where_they_overlap_and_not_where_they_touch() {
        let mut extents = Extents::default();
        for (start, end) in [(0, 10), (10, 20), (40, 50), (45, 60), (30, 42), (70, 70)] {
            extents.add(start, end);
        }
        let inside: Vec<u64> = (0..80).filter(|&at| extents.around(at).is_some()).collect();
        let expected: Vec<u64> = (1..10).chain(11..20).chain(31..60).collect();
        assert_eq!(inside, expected);
    }
}
