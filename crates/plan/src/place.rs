//! Offsets for buffers with known live ranges.
//!
//! In: intervals. Out: an offset each, with the floor that no placement can beat. Method: greedy, each interval at the
//! lowest offset that is free for its whole life, in several orders; then the order that did best is improved by moving
//! what sticks out on top to the front; then, if that missed the floor, an exact search for a little while. Effort is
//! counted in comparisons and nodes, never in seconds. Of very many intervals only the largest are placed that way. The
//! others, which together weigh little, lie above them as best fit puts them.

pub mod csv;
mod greedy;
mod occupied;
pub mod pages;
mod ranking;
mod search;
mod solve;
pub(crate) mod stack;
mod sweep;

pub use ranking::{Priority, Ranking};
pub use search::{Ideas, Searched, Verdict, search};
pub use solve::solve;

use plimsoll_trace::{Bytes, Offset};
use std::cmp::Reverse;
use std::ops::Range;

/// Something to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The steps during which it is live, half-open.
    pub live: Range<u32>,
    /// Its size, a multiple of the alignment.
    pub bytes: Bytes,
}

/// Where everything goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// For each interval, where it begins.
    pub offsets: Vec<Offset>,
    /// The highest end.
    pub peak: Bytes,
    /// The most bytes live at once.
    pub floor: Bytes,
    /// How many nodes the exact search visited; none where the greedy reached the floor.
    pub nodes: u64,
}

/// How often the best order is improved before giving up.
const IMPROVEMENTS: usize = 24;
/// How many intervals may be placed while improving; of a few thousand intervals it never is the bound.
const EFFORT: usize = 1 << 17;
/// How many intervals are placed greedily: these take about a second.
const GREEDY: usize = 1 << 16;
/// What the exact search may look at for one capacity: intervals live in a section, once a node.
const LOOKS: u64 = 1 << 19;
/// Into how many steps the way from the floor to the greedy's peak is cut for the exact search.
const STEPS: u64 = 4;

/// Places intervals so that those live at the same step do not overlap.
pub fn place(intervals: &[Interval]) -> Placement {
    if intervals.len() > GREEDY {
        return place_largest_first(intervals);
    }
    let greedy = place_greedily(intervals);
    match greedy.peak == greedy.floor || intervals.len() > solve::MOST {
        true => greedy,
        false => place_exactly(intervals, greedy),
    }
}

/// The largest greedily, the others swept above them; or all swept, where that is better.
fn place_largest_first(intervals: &[Interval]) -> Placement {
    let mut by_size: Vec<usize> = (0..intervals.len()).collect();
    by_size.sort_by_key(|&index| (Reverse(intervals[index].bytes), index));
    let (large, small) = by_size.split_at(GREEDY);
    let part = |indices: &[usize]| -> Vec<Interval> {
        indices.iter().map(|&index| intervals[index].clone()).collect()
    };
    let below = place_greedily(&part(large));
    let above = sweep::place(&part(small));
    let swept = sweep::place(intervals);
    let floor = floor(intervals);
    if swept.peak <= below.peak + above.peak {
        return Placement { floor, ..swept };
    }
    let mut offsets = vec![Offset::START; intervals.len()];
    large.iter().zip(below.offsets).for_each(|(&index, offset)| offsets[index] = offset);
    small.iter().zip(above.offsets).for_each(|(&index, offset)| offsets[index] = offset + below.peak);
    Placement { offsets, peak: below.peak + above.peak, floor, nodes: 0 }
}

/// Searches at the floor, then at a few capacities between it and what is known; gives the best.
fn place_exactly(intervals: &[Interval], greedy: Placement) -> Placement {
    let (floor, above) = (greedy.floor, greedy.peak.0 - greedy.floor.0);
    let limit = LOOKS / looks(intervals).max(1);
    let mut nodes = 0;
    for step in 0..STEPS {
        // A search that cannot even place everything once is not worth its beginning.
        if limit < intervals.len() as u64 {
            break;
        }
        let capacity = Bytes(floor.0 + (u128::from(above) * u128::from(step) / u128::from(STEPS)) as u64);
        let searched = solve(intervals, capacity, limit);
        nodes += searched.nodes;
        if let Verdict::Placed(offsets) = searched.verdict {
            let ends =
                offsets.iter().zip(intervals).map(|(&offset, interval)| (offset + interval.bytes).distance());
            let peak = ends.max().unwrap_or(Bytes::ZERO);
            return Placement { offsets, peak, floor, nodes };
        }
    }
    Placement { nodes, ..greedy }
}

/// About how many intervals a node of the search looks at: those live in each section, in the one section of 16 or so
/// that changed.
fn looks(intervals: &[Interval]) -> u64 {
    let mut starts: Vec<u32> = intervals.iter().map(|interval| interval.live.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let sections = |live: &Range<u32>| {
        starts.partition_point(|&s| s < live.end) - starts.partition_point(|&s| s < live.start)
    };
    let all: usize = intervals.iter().map(|interval| sections(&interval.live)).sum();
    all as u64 / 16
}

fn place_greedily(intervals: &[Interval]) -> Placement {
    let floor = floor(intervals);
    let mut greedy = greedy::Greedy::new(intervals);
    let mut best = sweep::place(intervals);
    let (mut order, mut current) = (Vec::new(), None);
    for first in first_orders(intervals) {
        if best.peak == floor {
            return best;
        }
        let placement = greedy.place(&first);
        if placement.peak < best.peak {
            best = placement.clone();
        }
        if current.as_ref().is_none_or(|found: &Placement| placement.peak < found.peak) {
            (order, current) = (first, Some(placement));
        }
    }
    let Some(mut current) = current else { return best };
    let affordable = EFFORT / intervals.len().max(1);
    for _ in 0..affordable.min(IMPROVEMENTS) {
        if best.peak == floor {
            break;
        }
        move_top_to_front(intervals, &current, &mut order);
        current = greedy.place(&order);
        if current.peak < best.peak {
            best = current.clone();
        }
    }
    best
}

/// The most bytes live at once.
pub(crate) fn floor(intervals: &[Interval]) -> Bytes {
    let mut changes: Vec<(u32, i128)> = Vec::with_capacity(2 * intervals.len());
    for interval in intervals {
        changes.push((interval.live.start, i128::from(interval.bytes.0)));
        changes.push((interval.live.end, -i128::from(interval.bytes.0)));
    }
    // Ends sort before starts at the same step: the ranges are half-open.
    changes.sort_unstable();
    let mut live = 0;
    let mut most = 0;
    for (_, change) in changes {
        live += change;
        most = most.max(live);
    }
    Bytes(most as u64)
}

/// Orders that do well on different graphs: large ones first (as time goes and backwards), long-lived ones, large
/// areas, and as time goes.
fn first_orders(intervals: &[Interval]) -> Vec<Vec<usize>> {
    let duration = |i: usize| u64::from(intervals[i].live.end - intervals[i].live.start);
    let bytes = |i: usize| intervals[i].bytes.0;
    let start = |i: usize| intervals[i].live.start;
    let end = |i: usize| intervals[i].live.end;
    let sorted = |key: &dyn Fn(usize) -> (Reverse<u128>, u32, Reverse<u64>)| {
        let mut order: Vec<usize> = (0..intervals.len()).collect();
        order.sort_by_key(|&i| (key(i), i));
        order
    };
    vec![
        sorted(&|i| (Reverse(u128::from(bytes(i))), start(i), Reverse(duration(i)))),
        sorted(&|i| (Reverse(u128::from(bytes(i))), u32::MAX - end(i), Reverse(duration(i)))),
        sorted(&|i| (Reverse(u128::from(duration(i))), start(i), Reverse(bytes(i)))),
        sorted(&|i| (Reverse(u128::from(bytes(i)) * u128::from(duration(i))), start(i), Reverse(0))),
        sorted(&|i| (Reverse(0), start(i), Reverse(duration(i)))),
    ]
}

/// Moves what ends above the floor to the front of the order: it was placed too late to find a low place.
fn move_top_to_front(intervals: &[Interval], placement: &Placement, order: &mut [usize]) {
    let end = |index: usize| (placement.offsets[index] + intervals[index].bytes).distance();
    order.sort_by_key(|&index| end(index) <= placement.floor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let one = (0u32..30, 1u32..20, 1u64..50).prop_map(|(start, length, units)| Interval {
            live: start..start + length,
            bytes: Bytes(units * 64),
        });
        proptest::collection::vec(one, 0..40)
    }

    proptest! {
        #[test]
        fn nothing_overlaps_and_the_floor_holds(intervals in intervals(), swept in any::<bool>()) {
            let placement = if swept { sweep::place(&intervals) } else { place(&intervals) };
            let mut peak = Bytes::ZERO;
            for (i, a) in intervals.iter().enumerate() {
                let (start, end) = (placement.offsets[i], placement.offsets[i] + a.bytes);
                peak = peak.max(end.distance());
                for (j, b) in intervals.iter().enumerate().skip(i + 1) {
                    let together = a.live.start < b.live.end && b.live.start < a.live.end;
                    let apart = end <= placement.offsets[j] || placement.offsets[j] + b.bytes <= start;
                    prop_assert!(!together || apart, "{i} and {j} overlap");
                }
            }
            prop_assert_eq!(placement.peak, peak);
            prop_assert!(placement.floor <= peak);
            let by_step = (0..60u32).map(|step| intervals.iter().filter(|i| i.live.contains(&step)).map(|i| i.bytes).sum());
            prop_assert_eq!(placement.floor, by_step.max().unwrap_or(Bytes::ZERO));
        }
    }

    #[test]
    fn very_many_intervals_are_placed_without_overlaps() {
        // More than are placed greedily, a few of them large: at each step some live, some of them long.
        let count = 3 * GREEDY as u32;
        let intervals: Vec<Interval> = (0..count)
            .map(|i| Interval {
                live: i..i + 1 + i * 7919 % 50,
                bytes: Bytes(64 * (1 + u64::from(i) * 104_729 % 300)),
            })
            .collect();
        let placement = place(&intervals);
        let end = |i: usize| placement.offsets[i] + intervals[i].bytes;
        for i in 0..intervals.len() {
            assert!(end(i).distance() <= placement.peak);
            for j in i + 1..intervals.len().min(i + 51) {
                let together = intervals[i].live.end > intervals[j].live.start;
                let apart = end(i) <= placement.offsets[j] || end(j) <= placement.offsets[i];
                assert!(!together || apart, "{i} and {j} overlap");
            }
        }
        assert!(placement.floor <= placement.peak && placement.peak.0 < placement.floor.0 * 3 / 2);
    }

    #[test]
    fn nested_lives_fit_without_a_gap() {
        // A forward and a backward pass: what was made first is needed last.
        let nested: Vec<Interval> =
            (0..20).map(|i| Interval { live: i..40 - i, bytes: Bytes(64 * u64::from(i + 1)) }).collect();
        let placement = place(&nested);
        assert_eq!(placement.peak, placement.floor);
    }
}
