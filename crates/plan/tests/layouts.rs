//! Layout problems with known answers: small ones against brute force, perfect packings cut from a rectangle, and
//! published ones.

use plimsoll_plan::place::{Ideas, Priority, Ranking, Verdict, csv, place, search, solve};
use plimsoll_plan::{Interval, Placement};
use plimsoll_trace::{Bytes, Offset};
use std::path::{Path, PathBuf};

/// Numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn random_problem(random: &mut Random, most: u64) -> Vec<Interval> {
    let one = |random: &mut Random| {
        let start = random.below(6) as u32;
        Interval { live: start..start + 1 + random.below(4) as u32, bytes: Bytes(1 + random.below(4)) }
    };
    (0..1 + random.below(most)).map(|_| one(random)).collect()
}

fn floor(intervals: &[Interval]) -> u64 {
    let live = |step: u32| intervals.iter().filter(|i| i.live.contains(&step)).map(|i| i.bytes.0).sum();
    intervals.iter().map(|interval| live(interval.live.start)).max().unwrap_or(0)
}

/// The slow and short proof that nothing overlaps and all ends below the capacity.
fn check(intervals: &[Interval], offsets: &[Offset], capacity: u64) {
    assert_eq!(intervals.len(), offsets.len());
    for (i, a) in intervals.iter().enumerate() {
        assert!(offsets[i].0 + a.bytes.0 <= capacity, "{i} ends above {capacity}");
        for (j, b) in intervals.iter().enumerate().skip(i + 1) {
            let together = a.live.start < b.live.end && b.live.start < a.live.end;
            let apart = offsets[i].0 + a.bytes.0 <= offsets[j].0 || offsets[j].0 + b.bytes.0 <= offsets[i].0;
            assert!(!together || apart, "{i} and {j} overlap");
        }
    }
}

/// Whether offsets exist, by trying every offset for every interval.
fn brute_force(intervals: &[Interval], offsets: &mut Vec<u64>, capacity: u64) -> bool {
    let Some(next) = intervals.get(offsets.len()) else { return true };
    (0..=capacity.saturating_sub(next.bytes.0)).any(|offset| {
        let free = next.bytes.0 <= capacity
            && intervals.iter().zip(offsets.iter()).all(|(other, &at)| {
                let together = other.live.start < next.live.end && next.live.start < other.live.end;
                !together || at + other.bytes.0 <= offset || offset + next.bytes.0 <= at
            });
        offsets.push(offset);
        let found = free && brute_force(intervals, offsets, capacity);
        offsets.pop();
        found
    })
}

/// All combinations of ideas.
fn combinations() -> impl Iterator<Item = Ideas> {
    (0u32..1 << 7).map(|bits| {
        let on = |bit: u32| bits >> bit & 1 == 1;
        Ideas {
            section_bound: on(0),
            not_first: on(1),
            dominance: on(2),
            twins: on(3),
            decomposition: on(4),
            backjumps: on(5),
            memory: on(6),
        }
    })
}

/// Intervals that are added as long as they fit at every step: little slack, and often no placement at the floor.
fn dense_problem(random: &mut Random, steps: u64, capacity: u64) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = Vec::new();
    for _ in 0..200 {
        let start = random.below(steps);
        let end = (start + 2 + random.below(4)).min(steps);
        intervals
            .push(Interval { live: start as u32..end as u32, bytes: Bytes(1 + random.below(capacity / 2)) });
        if floor(&intervals) > capacity {
            intervals.pop();
        }
    }
    intervals.sort_by_key(|interval| interval.live.start);
    intervals
}

/// Whether the search finds offsets, which are checked; nothing if it gave up.
fn possible(
    intervals: &[Interval],
    capacity: u64,
    ranking: Ranking,
    ideas: Ideas,
    nodes: u64,
) -> Option<bool> {
    match search(intervals, Bytes(capacity), ranking, ideas, nodes).verdict {
        Verdict::Placed(offsets) => {
            check(intervals, &offsets, capacity);
            Some(true)
        }
        Verdict::Impossible => Some(false),
        Verdict::GaveUp => None,
    }
}

/// Some hundred dense problems. Few have no placement at the floor: of those with one, only every fortieth is kept.
fn mixed_problems(seed: u64, steps: u64, capacity: u64) -> Vec<Vec<Interval>> {
    let (mut random, ranking) = (Random(seed), Ranking { priority: Priority::Crowded, seed: 0 });
    let problems = (0..6000).map(|round| (round, dense_problem(&mut random, steps, capacity)));
    let kept = problems.filter(|(round, intervals)| {
        round % 40 == 0 || possible(intervals, floor(intervals), ranking, Ideas::ALL, 10_000) != Some(true)
    });
    kept.map(|(_, intervals)| intervals).collect()
}

#[test]
fn all_combinations_of_ideas_agree_with_brute_force() {
    let (mut counts, mut searches, mut gave_up) = ([0, 0], 0, 0);
    let mut random = Random(5);
    let tiny = (0..100).map(|_| random_problem(&mut random, 6));
    for (round, intervals) in tiny.chain(mixed_problems(7, 9, 6)).enumerate() {
        let capacity = floor(&intervals);
        let expected = brute_force(&intervals, &mut Vec::new(), capacity);
        counts[usize::from(expected)] += 1;
        let ranking = Ranking { priority: Priority::ALL[round % 3], seed: round as u64 % 5 };
        for ideas in combinations() {
            searches += 1;
            // Without the ideas that bound the tree, a proof may take too long.
            match possible(&intervals, capacity, ranking, ideas, 1_000) {
                Some(found) => assert_eq!(found, expected, "{intervals:?} at {capacity} with {ideas:?}"),
                None => gave_up += 1,
            }
        }
        assert_eq!(
            possible(&intervals, capacity, ranking, Ideas::ALL, 10_000),
            Some(expected),
            "{intervals:?}"
        );
    }
    assert!(counts[0] >= 20 && counts[1] >= 200, "{counts:?} are impossible and possible");
    assert!(gave_up < searches / 4, "{gave_up} of {searches} searches gave up");
}

/// Larger problems, for which brute force is too slow: with and without each idea the verdict is the same.
#[test]
fn every_idea_can_be_left_out() {
    let ranking = Ranking { priority: Priority::Crowded, seed: 0 };
    let mut counts = [0, 0];
    for intervals in mixed_problems(11, 12, 9) {
        let verdict = |ideas| {
            possible(&intervals, floor(&intervals), ranking, ideas, 1_000_000).expect("it is small enough")
        };
        let expected = verdict(Ideas::ALL);
        counts[usize::from(expected)] += 1;
        for ideas in [
            Ideas { section_bound: false, ..Ideas::ALL },
            Ideas { not_first: false, ..Ideas::ALL },
            Ideas { dominance: false, ..Ideas::ALL },
            Ideas { twins: false, ..Ideas::ALL },
            Ideas { decomposition: false, ..Ideas::ALL },
            Ideas { backjumps: false, ..Ideas::ALL },
            Ideas { memory: false, ..Ideas::ALL },
            Ideas { backjumps: false, memory: false, twins: false, ..Ideas::ALL },
        ] {
            assert_eq!(verdict(ideas), expected, "{intervals:?} with {ideas:?}");
        }
    }
    assert!(counts[0] >= 20 && counts[1] >= 100, "{counts:?} are impossible and possible");
}

/// Cuts a rectangle of time and space until there are so many pieces; together they fill it.
fn cut(random: &mut Random, pieces: usize, capacity: u64) -> Vec<Interval> {
    let mut rectangles = vec![(0u32, 200u32, capacity)];
    while rectangles.len() < pieces {
        let areas = rectangles.iter().map(|&(from, until, size)| u64::from(until - from) * size);
        let largest = areas.enumerate().max_by_key(|&(_, area)| area).map_or(0, |(index, _)| index);
        let (from, until, size) = rectangles.swap_remove(largest);
        if random.below(2) == 0 && until - from > 1 || size == 1 {
            let at = from + 1 + random.below(u64::from(until - from - 1)) as u32;
            rectangles.extend([(from, at, size), (at, until, size)]);
        } else {
            let at = 1 + random.below(size - 1);
            rectangles.extend([(from, until, at), (from, until, size - at)]);
        }
    }
    rectangles.iter().map(|&(from, until, size)| Interval { live: from..until, bytes: Bytes(size) }).collect()
}

#[test]
fn perfect_packings_are_found() {
    let mut random = Random(3);
    for (pieces, node_limit) in [(30, 2_000), (45, 5_000), (60, 20_000), (80, 40_000), (100, 80_000)] {
        for round in 0..5 {
            let intervals = cut(&mut random, pieces, 1 << 16);
            let searched = solve(&intervals, Bytes(1 << 16), node_limit);
            match searched.verdict {
                Verdict::Placed(offsets) => check(&intervals, &offsets, 1 << 16),
                other => panic!("{pieces} pieces, round {round}: {other:?} after {} nodes", searched.nodes),
            }
            let less = solve(&intervals, Bytes((1 << 16) - 1), node_limit);
            assert_eq!(
                (less.verdict, less.nodes),
                (Verdict::Impossible, 0),
                "{pieces} pieces, round {round}"
            );
        }
    }
}

#[test]
fn what_takes_no_room_is_in_nobodys_way() {
    let one = |from, until, bytes| Interval { live: from..until, bytes: Bytes(bytes) };
    for intervals in [vec![], vec![one(0, 3, 0)], vec![one(0, 3, 0), one(1, 2, 5), one(2, 2, 7)]] {
        let placement = place(&intervals);
        assert_eq!(placement.peak, placement.floor, "{intervals:?}");
        let Verdict::Placed(offsets) = solve(&intervals, Bytes(5), 10).verdict else {
            panic!("{intervals:?}")
        };
        assert!(offsets.iter().all(|offset| *offset == Offset::START));
    }
}

#[test]
fn a_search_is_as_deep_as_there_are_intervals_and_no_deeper_than_the_stack() {
    let equal = |count| vec![Interval { live: 0..1, bytes: Bytes(8) }; count];
    let Verdict::Placed(offsets) = solve(&equal(1024), Bytes(8 * 1024), 2_000).verdict else {
        panic!("it fits")
    };
    check(&equal(1024), &offsets, 8 * 1024);
    assert_eq!(solve(&equal(1025), Bytes(8 * 1025), 2_000).verdict, Verdict::GaveUp);
}

/// The folder with other people's problems, which are not part of this repository; CI must have it.
fn layouts() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = ["../shared/layouts", "../../shared/layouts"]
        .map(|path| root.join(path))
        .into_iter()
        .find(|path| path.is_dir());
    if found.is_none() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "shared/layouts is missing beside the repository"
        );
        eprintln!(
            "SKIPPED: shared/layouts is not beside the repository, so the published problems were not tried"
        );
    }
    found
}

fn read(path: PathBuf) -> Vec<Interval> {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    csv::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).intervals
}

/// The problems of minimalloc, each with the nodes that the search may visit.
const PUBLISHED: [(&str, u64); 11] = [
    ("A", 20_000),
    ("B", 5_000),
    ("C", 5_000),
    ("D", 1_000),
    ("E", 80_000),
    ("F", 1_000),
    ("G", 1_000),
    ("H", 60_000),
    ("I", 100_000),
    ("J", 1_000),
    ("K", 1_000),
];

/// Solves a published problem, or the same with its lines in another order: ties are then broken otherwise.
fn solve_published(folder: &Path, name: &str, node_limit: u64, shuffle: u64) {
    let mut intervals = read(folder.join(format!("{name}.1048576.csv")));
    if shuffle > 0 {
        let mut random = Random(shuffle);
        (1..intervals.len()).for_each(|last| intervals.swap(last, random.below(last as u64 + 1) as usize));
    }
    let searched = solve(&intervals, Bytes(1 << 20), node_limit);
    match searched.verdict {
        Verdict::Placed(offsets) => check(&intervals, &offsets, 1 << 20),
        other => panic!("{name}, shuffle {shuffle}: {other:?} after {} nodes", searched.nodes),
    }
}

#[test]
fn the_problems_of_minimalloc_are_solved() {
    let Some(folder) = layouts() else { return };
    for (name, node_limit) in PUBLISHED {
        solve_published(&folder, name, node_limit, 0);
    }
}

#[test]
fn the_order_of_the_lines_does_not_matter() {
    let Some(folder) = layouts() else { return };
    for (name, node_limit) in PUBLISHED.iter().filter(|(_, node_limit)| *node_limit <= 20_000) {
        (1..=3).for_each(|shuffle| solve_published(&folder, name, *node_limit, shuffle));
    }
}

/// No life in these files is shorter than 2 steps: both ends are exclusive.
#[test]
fn training_scale_problems_are_placed_close_to_the_floor() {
    let Some(folder) = layouts() else { return };
    for name in ["resnet50", "G_1", "pangu_2.6B"] {
        let mut intervals = read(folder.join("training").join(format!("{name}.csv")));
        assert!(intervals.iter().all(|interval| interval.live.len() >= 2), "{name}");
        intervals.iter_mut().for_each(|interval| interval.live.start += 1);
        let Placement { offsets, peak, floor, .. } = place(&intervals);
        check(&intervals, &offsets, peak.0);
        assert!(peak.0 <= floor.0 + floor.0 / 200, "{name}: {peak} with a floor of {floor}");
    }
}
