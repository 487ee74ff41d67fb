//! The driver of the exact search: short runs with many rankings, because a run that takes a wrong turn early rarely recovers.

use super::{Ideas, Interval, Priority, Ranking, Searched, Verdict};
use super::search::Search;
use plimsoll_trace::Bytes;

/// The nodes of the shortest run.
const SHORTEST: u64 = 1000;

/// Of more intervals than this no search is begun: it goes as deep as there are intervals, and keeps the neighbours of each.
pub(super) const MOST: usize = 1 << 10;

/// Searches for offsets below a capacity until it is done or the nodes are used up. The same input gives the same answer.
/// With more than 1,024 intervals it gives up at once.
pub fn solve(intervals: &[Interval], capacity: Bytes, node_limit: u64) -> Searched {
    if intervals.len() > MOST {
        return Searched { verdict: Verdict::GaveUp, nodes: 0 };
    }
    // A run that cannot place everything once is of no use.
    let shortest = SHORTEST.max(2 * intervals.len() as u64);
    let mut search = Search::new(intervals, capacity.0, Ideas::ALL);
    for round in 1.. {
        for priority in Priority::ALL {
            for conflicts in [0, 1] {
            if std::env::var("C").is_ok_and(|c| c != conflicts.to_string()) { continue }
            search.ideas.conflicts_first = conflicts == 1;
            let ranking = Ranking { priority, seed: round - 1 };
            let budget = (shortest * luby(round)).min(node_limit - search.nodes);
            let verdict = search.run(intervals, ranking, budget);
            if verdict != Verdict::GaveUp || search.nodes >= node_limit {
                return Searched { verdict, nodes: search.nodes };
            }
            }
        }
    }
    unreachable!("every run visits nodes, and they are limited")
}

/// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: within a factor of the best restarts, whatever these are (Luby, Sinclair, Zuckerman 1993).
fn luby(index: u64) -> u64 {
    let power = (index + 1).next_power_of_two();
    match index + 1 == power {
        true => power / 2,
        false => luby(index + 1 - power / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::luby;

    #[test]
    fn runs_grow_slowly() {
        let first: Vec<u64> = (1..=15).map(luby).collect();
        assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
