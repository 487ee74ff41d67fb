//! Numbers as bytes, and what writer and reader both remember of the records so far.

use crate::{Bytes, Event, LabelId, Offset, What};

/// What the next record is expected to be like.
///
/// Equation: writer and reader have the same expectation before every record.
#[derive(Default)]
pub(super) struct Expectation {
    pub(super) time: u32,
    pub(super) block: u32,
    pub(super) label: u32,
    /// Where the last block that was taken ends.
    pub(super) end: u64,
    /// How each label was last taken.
    pub(super) takes: Vec<(u64, u64)>,
    pub(super) step: u64,
    pub(super) clock: u64,
    pub(super) again: (usize, usize),
}

impl Expectation {
    /// How a label was last taken.
    pub(super) fn last_take(&self, label: LabelId) -> Option<(u64, u64)> {
        self.takes.get(label.0 as usize).copied()
    }

    /// An event happened.
    pub(super) fn event(&mut self, event: &Event) {
        self.time = event.time().0;
        if let Event::Take { block, offset: Offset(offset), bytes: Bytes(bytes), label, .. } = *event {
            self.block = block.0.wrapping_add(1);
            self.label = label.0.wrapping_add(1);
            self.end = offset.wrapping_add(bytes);
            if let Some(take) = self.takes.get_mut(label.0 as usize) {
                *take = (offset, bytes);
            }
        }
    }

    /// A mark was made.
    pub(super) fn mark(&mut self, what: What) {
        match what {
            What::Step { number } => self.step = number.wrapping_add(1),
            What::Clock { nanoseconds } => self.clock = nanoseconds,
            What::Again { from, count } => self.again = (from, count),
            What::Evaluation | What::Region { .. } | What::Refused { .. } => {}
        }
    }
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
pub(super) fn put(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// A difference as a number: 0, -1, 1, -2, 2, ...
pub(super) fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

/// The difference again.
pub(super) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// How far a number is from what was expected.
pub(super) fn difference(number: u64, expected: u64) -> u64 {
    zigzag(number.wrapping_sub(expected) as i64)
}

/// The number again.
pub(super) fn differing(difference: u64, expected: u64) -> u64 {
    expected.wrapping_add(unzigzag(difference) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_round_trip() {
        for (number, expected) in [(0, 0), (5, 9), (u64::MAX, 0), (0, u64::MAX), (1 << 63, 1), (7, 1 << 63)] {
            assert_eq!(differing(difference(number, expected), expected), number);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }
}
