//! The driver of the exact search: short runs with many rankings, because a run that takes a wrong turn early rarely
//! recovers.

use super::search::Search;
use super::{Ideas, Interval, Priority, Ranking, Searched, Verdict};
use plimsoll_trace::Bytes;

/// The nodes of the shortest run.
const SHORTEST: u64 = 500;

/// Of more intervals than this no search is begun: it goes as deep as there are intervals, and keeps the neighbours of
/// each.
pub(super) const MOST: usize = 1 << 10;

/// Searches for offsets below a capacity until it is done or the nodes are used up. The same input gives the same
/// answer. With more than 1,024 intervals it gives up at once.
pub fn solve(intervals: &[Interval], capacity: Bytes, node_limit: u64) -> Searched {
    if intervals.len() > MOST {
        return Searched { verdict: Verdict::GaveUp, nodes: 0 };
    }
    // A run that cannot place everything once is of no use.
    let shortest = SHORTEST.max(2 * intervals.len() as u64);
    let mut search = Search::new(intervals, capacity.0, Ideas::ALL);
    for round in 1.. {
        let (seed, length) = (seed(round), shortest * luby(round));
        for priority in Priority::ALL {
            let budget = length.min(node_limit - search.nodes);
            let verdict = search.run(intervals, Ranking { priority, seed }, budget);
            if verdict != Verdict::GaveUp || search.nodes >= node_limit {
                return Searched { verdict, nodes: search.nodes };
            }
        }
    }
    unreachable!("every run visits nodes, and they are limited")
}

/// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: within a factor of the best restarts, whatever these are (Luby, Sinclair,
/// Zuckerman 1993).
fn luby(round: u64) -> u64 {
    let power = (round + 1).next_power_of_two();
    match round + 1 == power {
        true => power / 2,
        false => luby(round + 1 - power / 2),
    }
}

/// A run that is longer than all before has the unshaken ranking, and goes on where the last one like it ended.
fn seed(round: u64) -> u64 {
    if (round + 1).is_power_of_two() { 0 } else { round }
}

#[cfg(test)]
mod tests {
    use super::{luby, seed};

    #[test]
    fn runs_grow_slowly_and_the_longest_are_not_shaken() {
        let first: Vec<u64> = (1..=15).map(luby).collect();
        assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
        let seeds: Vec<u64> = (1..=8).map(seed).collect();
        assert_eq!(seeds, [0, 2, 0, 4, 5, 6, 0, 8]);
    }
}
