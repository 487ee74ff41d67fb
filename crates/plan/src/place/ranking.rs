//! Rankings: which intervals a search tries first where several can go equally low.

use super::Interval;
use std::cmp::Reverse;

/// A ranking: what comes first, and how far it is shaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// What comes first.
    pub priority: Priority,
    /// Different seeds shake the ranking differently; 0 leaves it alone.
    pub seed: u64,
}

/// What comes first. None is best everywhere, so [`solve`](super::solve()) takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Crowded times first, among them long lives: what many others meet is decided early.
    Crowded,
    /// Long lives at crowded times first, weighed against each other.
    LongAndCrowded,
    /// Large areas first: what is small fits into what is left.
    Large,
}

impl Priority {
    /// All of them.
    pub const ALL: [Priority; 3] = [Self::Crowded, Self::LongAndCrowded, Self::Large];
}

/// The position of each interval, where `total` is the most bytes live at once during it.
pub(super) fn ranks(intervals: &[Interval], total: &[u64], ranking: Ranking) -> Vec<usize> {
    let key = |i: usize| {
        let (total, bytes) = (u128::from(total[i]), u128::from(intervals[i].bytes.0));
        let width = u128::from(intervals[i].live.end.saturating_sub(intervals[i].live.start));
        let factor = u128::from(factor(ranking.seed, i as u64));
        match ranking.priority {
            Priority::Crowded => (total, width * factor, width * bytes),
            // Only the share of the capacity matters; whole bytes could overflow.
            Priority::LongAndCrowded => ((total >> 4) * width * factor, 0, 0),
            Priority::Large => ((bytes * width).saturating_mul(factor), 0, 0),
        }
    };
    let mut order: Vec<usize> = (0..intervals.len()).collect();
    order.sort_by_cached_key(|&i| (Reverse(key(i)), i));
    let mut ranks = vec![0; order.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank;
    }
    ranks
}

/// Between 1000 and 2000, by a hash of seed and interval.
fn factor(seed: u64, index: u64) -> u64 {
    if seed == 0 {
        return 1000;
    }
    let mut hash =
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 32;
    1000 + hash % 1000
}
