//! Which axes of its predictions a loss sums over.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Axes of a tensor of at most eight, each counted from the front or, as a negative number, from the back. All of them
/// where none is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axes {
    /// A bit for each axis counted from the front.
    front: u8,
    /// A bit for each counted from the back.
    back: u8,
}

impl Axes {
    /// Reads `1`, `[1, 2, -1]` or `None`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut axes = Self::default();
        if text == "None" {
            return Some(axes);
        }
        let listed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        for axis in listed.split(',') {
            let bits = match axis.trim().parse().ok()? {
                axis @ 0i32..8 => (&mut axes.front, 1u8 << axis),
                axis @ -8..0 => (&mut axes.back, 1u8 << (-1 - axis)),
                _ => return None,
            };
            *bits.0 |= bits.1;
        }
        Some(axes)
    }

    /// The axes of a tensor of that rank, ascending; one that the tensor does not have stays so.
    pub(crate) fn of(self, rank: usize) -> Vec<usize> {
        if self == Self::default() {
            return (0..rank).collect();
        }
        let back = self.back().map(|axis| rank.checked_sub(axis + 1).unwrap_or(rank));
        let mut axes: Vec<usize> = self.front().chain(back).collect();
        axes.sort_unstable();
        axes.dedup();
        axes
    }

    /// Whether the samples of a batch may be among them, whatever the rank.
    pub(crate) fn may_be_samples(self) -> bool {
        self == Self::default() || self.front & 1 != 0 || self.back & !1 != 0
    }

    fn front(self) -> impl Iterator<Item = usize> {
        (0..8).filter(move |axis| self.front >> axis & 1 != 0)
    }

    fn back(self) -> impl Iterator<Item = usize> {
        (0..8).filter(move |axis| self.back >> axis & 1 != 0)
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let front = self.front().map(|axis| axis.to_string());
        let named: Vec<String> = front.chain(self.back().map(|axis| format!("-{}", axis + 1))).collect();
        write!(f, "[{}]", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_counted_from_both_ends() {
        for (text, rank, wanted) in [
            ("None", 3, vec![0, 1, 2]),
            ("1", 4, vec![1]),
            ("[1, 2, -1]", 4, vec![1, 2, 3]),
            ("-1", 2, vec![1]),
        ] {
            assert_eq!(Axes::parse(text).unwrap().of(rank), wanted, "{text}");
        }
        assert_eq!(Axes::parse("[1,2,-1]").unwrap().to_string(), "[1, 2, -1]");
        assert_eq!(Axes::parse("-3").unwrap().of(2), [2], "no such axis");
        for text in ["", "x", "[1", "9", "[]"] {
            assert_eq!(Axes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn samples_may_be_among_them() {
        for (text, wanted) in [("None", true), ("0", true), ("[1, 2]", false), ("-1", false), ("-3", true)] {
            assert_eq!(Axes::parse(text).unwrap().may_be_samples(), wanted, "{text}");
        }
    }
}
