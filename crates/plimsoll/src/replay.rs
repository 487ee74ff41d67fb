//! What a recorded trace would cost under other allocators, and with a plan: the door that joins `memory` and `plan`.
//!
//! ```
//! use plimsoll::replay::{Question, compare};
//! use plimsoll::{Bytes, trace::text};
//!
//! let trace = "trace 1\nlabel \"a\" \"\" \"\" \"\"\n0 take 0 at 0 bytes 1000 label 0\n0 take 1 at 0 bytes 600 label 0\n1 free 0\n";
//! let question = Question { limit: Some(Bytes::mib(1)), ..Question::default() };
//! let comparison = compare(&text::parse(trace)?, &question)?;
//! assert_eq!(comparison.floor, Bytes(1600));
//! let planned = comparison.rows.iter().find(|row| row.allocator == "planned").unwrap();
//! assert_eq!(planned.smallest_limit, Some(Bytes(1024 + 640)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use plimsoll_memory::replay::{
    LIMIT_UNIT, Outcome, Request, Requests, Unmet, first_enough, replay, resume, smallest_limit,
};
use plimsoll_memory::{
    ALLOCATOR_NAMES, Address, Allocator, AllocatorOptions, BfcOptions, Block, RegionId, Simulated,
    UnknownAllocator as NoAllocator, by_name,
};
use plimsoll_plan::{Interval, Placement, place};
use plimsoll_trace::{Alignment, Bytes, LabelId, Trace, TraceError};

pub use plimsoll_import::recorded::{Recorded, Start};
pub use plimsoll_import::recording::{Recording, RecordingError, read};

/// The name of TensorFlow's allocator that goes on from the pool as it was recorded.
pub const RESUMED: &str = "bfc, going on";

/// The name of the layout that knows the whole trace beforehand.
pub const PLANNED: &str = "planned";

/// What an allocator gets that may take as much as it likes.
const UNLIMITED: Bytes = Bytes(1 << 52);

/// Replays a trace through every allocator that is asked about, each on a thread of its own.
pub fn compare(trace: &Trace, question: &Question) -> Result<Comparison, ReplayError> {
    let requests = Requests::of(trace)?;
    let question = &question.plain();
    let answer = |name: &str| match name {
        PLANNED => Ok(planned_row(&requests, question.limit)),
        name => row(&requests, name, question),
    };
    let rows: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = question.allocators.iter().map(|name| scope.spawn(|| answer(name))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a replay does not panic")).collect()
    });
    let rows = rows.into_iter().collect::<Result<_, _>>()?;
    Ok(Comparison { floor: requests.floor(), events: requests.len(), rows, recorded: None })
}

/// The same for a recording, with what it says of its own allocator. Where it begins in the middle, a row goes on from
/// the pool as it was recorded; the others begin with nothing and take what was live first.
pub fn compare_recording(recording: &Recording, question: &Question) -> Result<Comparison, ReplayError> {
    let question = &Question { bases: recording.recorded.bases.clone(), ..question.clone() };
    let mut comparison = compare(&recording.trace, question)?;
    if let Some(start) = &recording.recorded.start
        && question.allocators.iter().any(|name| name == "bfc")
    {
        let row = resumed_row(&Requests::of(&recording.trace)?, start, question);
        comparison.rows.splice(0..0, row);
    }
    comparison.recorded = Some(recording.recorded.clone());
    Ok(comparison)
}

/// Every name that [`compare`] knows.
pub fn names() -> Vec<&'static str> {
    ALLOCATOR_NAMES.into_iter().chain([PLANNED]).collect()
}

/// What is asked about a trace.
#[derive(Clone, Debug)]
pub struct Question {
    /// The allocators, by name.
    pub allocators: Vec<String>,
    /// Their settings.
    pub options: AllocatorOptions,
    /// What they may take; none for as much as they like.
    pub limit: Option<Bytes>,
    /// Where the recorded regions begin, which decides between equals; empty where it is not known.
    pub bases: Vec<u64>,
}

impl Question {
    /// PyTorch's allocator with segments that expand goes by a name of its own, however it was asked for.
    fn plain(&self) -> Self {
        let mut plain = self.clone();
        if self.options.torch.expandable {
            plain.allocators.retain(|name| name != "torch-expandable");
            let torch = plain.allocators.iter_mut().filter(|name| *name == "torch");
            torch.for_each(|name| *name = "torch-expandable".to_string());
        }
        plain
    }
}

impl Default for Question {
    fn default() -> Self {
        let allocators =
            ["bfc", "torch", "torch-expandable", "best-fit", PLANNED].map(str::to_string).to_vec();
        Self { allocators, options: AllocatorOptions::default(), limit: None, bases: Vec::new() }
    }
}

/// What a trace costs under several allocators.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The most bytes wanted at once: no allocator needs less.
    pub floor: Bytes,
    /// How many takes and frees there are.
    pub events: usize,
    /// A row for each allocator.
    pub rows: Vec<Row>,
    /// What the recording says of its own allocator, where it was asked.
    pub recorded: Option<Recorded>,
}

/// What a trace costs under one allocator.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub allocator: String,
    /// What happened within the limit.
    pub outcome: Outcome,
    /// The smallest limit at which it would meet all requests, to 4096 bytes; none where no limit is enough.
    pub smallest_limit: Option<Bytes>,
}

/// Why a trace cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum ReplayError {
    #[error("there is no allocator `{name}`; there are {}", names().join(", "))]
    UnknownAllocator { name: String },
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl From<NoAllocator> for ReplayError {
    fn from(error: NoAllocator) -> Self {
        Self::UnknownAllocator { name: error.name }
    }
}

fn row(requests: &Requests, name: &str, question: &Question) -> Result<Row, ReplayError> {
    by_name(name, &question.options)?;
    let make =
        || -> Box<dyn Allocator> { by_name(name, &question.options).expect("the name was found before") };
    let smallest = smallest_limit(requests, make);
    // What reserves its whole limit at once says nothing without one, so it gets the smallest.
    let whole = name == "bfc" && !question.options.bfc.growth;
    let generous = smallest.filter(|_| whole).unwrap_or(UNLIMITED);
    // With another limit there would be other regions.
    let as_recorded = name == "bfc" && question.limit.is_none() && question.options.bfc.growth;
    let bases = if as_recorded { question.bases.clone() } else { Vec::new() };
    let mut regions = Simulated::with_bases(question.limit.unwrap_or(generous), bases);
    let outcome = replay(requests, &mut *make(), &mut regions);
    Ok(Row { allocator: name.to_string(), outcome, smallest_limit: smallest })
}

/// TensorFlow's allocator, going on from a pool. It grows, unless its one region had the whole limit.
fn resumed_row(requests: &Requests, start: &Start, question: &Question) -> Option<Row> {
    let sizes: Vec<Bytes> = start.regions.iter().map(|(_, bytes)| *bytes).collect();
    let bases: Vec<u64> = start.regions.iter().map(|(base, _)| *base).chain(start.later.clone()).collect();
    let block = |region: usize, offset, bytes| Block {
        address: Address { region: RegionId(region as u32), offset },
        bytes,
    };
    let live: Vec<Block> =
        start.blocks.iter().map(|known| block(known.region, known.offset, known.bytes)).collect();
    let options = BfcOptions { growth: true, ..question.options.bfc };
    let at = |limit: Bytes| {
        resume(requests, options, (&sizes, &live), Simulated::with_bases(limit, bases.clone()))
    };
    let outcome = at(question.limit.unwrap_or(UNLIMITED))?;
    let enough = |limit: Bytes| at(limit).is_some_and(|outcome| outcome.out_of_memory.is_none());
    // The pool has its regions already: no limit below them means anything.
    let most =
        at(UNLIMITED).filter(|outcome| outcome.out_of_memory.is_none()).map(|outcome| outcome.peak_reserved);
    let least: Bytes = sizes.iter().copied().sum();
    let smallest_limit = most.map(|most| border(least, most, enough));
    Some(Row { allocator: RESUMED.to_string(), outcome, smallest_limit })
}

/// The smallest limit between two that is enough, in whole units; the upper one is.
fn border(least: Bytes, most: Bytes, enough: impl Fn(Bytes) -> bool) -> Bytes {
    let units = |bytes: Bytes| bytes.0.div_ceil(LIMIT_UNIT.0);
    let limit = |units: u64| Bytes(units * LIMIT_UNIT.0);
    match enough(limit(units(least))) {
        true => limit(units(least)),
        false => limit(first_enough(units(least), units(most), |units| enough(limit(units)))),
    }
}

/// The trace laid out as a whole. Its fragmentation is the share of the layout that is not live even at the fullest
/// moment.
fn planned_row(requests: &Requests, limit: Option<Bytes>) -> Row {
    let limit = limit.unwrap_or(UNLIMITED);
    let allocator = PLANNED.to_string();
    let Some(blocks) = blocks(requests) else {
        // Nothing that is laid out has so many bytes.
        let nothing = Placement { offsets: Vec::new(), peak: Bytes::ZERO, floor: Bytes::ZERO, nodes: 0 };
        return Row {
            allocator,
            outcome: outcome(&nothing, first_absurd(requests, limit)),
            smallest_limit: None,
        };
    };
    let intervals: Vec<Interval> = blocks.iter().map(|block| block.interval.clone()).collect();
    let placement = place(&intervals);
    let shortage = (placement.peak > limit).then(|| first_beyond(&blocks, &placement, limit)).flatten();
    Row { allocator, outcome: outcome(&placement, shortage), smallest_limit: Some(placement.peak) }
}

fn outcome(placement: &Placement, out_of_memory: Option<Unmet>) -> Outcome {
    let Placement { peak, floor, .. } = *placement;
    let worst_fragmentation = if peak == Bytes::ZERO { 0.0 } else { (peak - floor).0 as f64 / peak.0 as f64 };
    Outcome { peak_in_use: floor, peak_reserved: peak, worst_fragmentation, out_of_memory }
}

/// A block of a trace, from its take to its free.
struct Planned {
    interval: Interval,
    requested: Bytes,
    label: LabelId,
}

/// The blocks of a trace in the order of their takes; none where they do not fit in 52 bits.
fn blocks(requests: &Requests) -> Option<Vec<Planned>> {
    if requests.floor() >= UNLIMITED {
        return None;
    }
    let end = u32::try_from(requests.len()).ok()?;
    let mut blocks: Vec<Planned> = Vec::new();
    let mut live = vec![0; requests.places()];
    for (event, request) in requests.list().iter().enumerate() {
        match *request {
            Request::Take { block, bytes: requested, label } => {
                live[block as usize] = blocks.len();
                let interval =
                    Interval { live: event as u32..end, bytes: requested.aligned(Alignment::CACHE_LINE) };
                blocks.push(Planned { interval, requested, label });
            }
            Request::Free { block } => blocks[live[block as usize]].interval.live.end = event as u32,
        }
    }
    Some(blocks)
}

/// The first take that would end beyond a limit, with what is free and in one piece then.
fn first_beyond(blocks: &[Planned], placement: &Placement, limit: Bytes) -> Option<Unmet> {
    let end = |index: usize| (placement.offsets[index] + blocks[index].interval.bytes).distance();
    let index = (0..blocks.len()).find(|&index| end(index) > limit)?;
    let now = blocks[index].interval.live.start;
    let mut live: Vec<usize> =
        (0..index).filter(|&other| blocks[other].interval.live.contains(&now)).collect();
    live.sort_unstable_by_key(|&other| placement.offsets[other]);
    let in_use: Bytes = live.iter().map(|&other| blocks[other].interval.bytes).sum();
    let ends = std::iter::once(Bytes::ZERO).chain(live.iter().map(|&other| end(other)));
    let starts = live.iter().map(|&other| placement.offsets[other].distance()).chain([limit]);
    let largest_free =
        ends.zip(starts).map(|(end, start)| start.saturating_sub(end)).max().unwrap_or_default();
    let Planned { requested, label, .. } = blocks[index];
    Some(Unmet { event: now as usize, requested, label, free: limit.saturating_sub(in_use), largest_free })
}

/// The take with which more bytes are live than any layout is made for.
fn first_absurd(requests: &Requests, limit: Bytes) -> Option<Unmet> {
    let mut live = vec![Bytes::ZERO; requests.places()];
    let mut in_use = Bytes::ZERO;
    requests.list().iter().enumerate().find_map(|(event, request)| match *request {
        Request::Take { block, bytes, label } => {
            let free = limit.saturating_sub(in_use);
            if bytes >= UNLIMITED.saturating_sub(in_use) {
                return Some(Unmet { event, requested: bytes, label, free, largest_free: free });
            }
            live[block as usize] = bytes;
            in_use += bytes;
            None
        }
        Request::Free { block } => {
            in_use = in_use - live[block as usize];
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_memory::{Regions, TorchOptions};
    use plimsoll_trace::text;

    fn trace(events: &str) -> Trace {
        text::parse(&format!("trace 1\nlabel \"a\" \"\" \"\" \"Op\"\n{events}")).unwrap()
    }

    fn question(allocators: &[&str], limit: Option<u64>) -> Question {
        let allocators = allocators.iter().map(|name| name.to_string()).collect();
        Question { allocators, limit: limit.map(Bytes), ..Question::default() }
    }

    /// Two blocks, then one that fits between them only if somebody knew.
    const LATE: &str = "0 take 0 at 0 bytes 6400 label 0\n0 take 1 at 0 bytes 640 label 0\n1 free 0\n1 take 2 at 0 bytes 7040 label 0\n";

    #[test]
    fn a_plan_needs_the_floor_where_an_allocator_needs_more() {
        let comparison = compare(&trace(LATE), &question(&["best-fit", PLANNED], None)).unwrap();
        assert_eq!(comparison.floor, Bytes(7680));
        let limits: Vec<u64> = comparison.rows.iter().map(|row| row.smallest_limit.unwrap().0).collect();
        assert_eq!(limits, [4096 * 4, 7680], "6400 + 640 + 7040 in pages, and the floor");
        assert!(comparison.rows.iter().all(|row| row.outcome.out_of_memory.is_none()));
    }

    /// A log of TensorFlow's allocator as it goes on in the middle: made by running it, so what is recorded is known.
    fn log_of_the_middle(steps: usize, cut: usize) -> String {
        let mut state = 11u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let options = AllocatorOptions::default();
        let mut bfc = by_name("bfc", &options).unwrap();
        let mut regions = Simulated::new(Bytes::mib(64));
        let mut live: Vec<(Block, u64)> = Vec::new();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for step in 0..steps {
            let lines = if step < cut { &mut before } else { &mut after };
            if step == cut {
                let held = live.iter().map(|(block, asked)| line('P', block, *asked, &regions));
                lines.extend(held);
            }
            if live.len() > 20 || below(3) == 0 && !live.is_empty() {
                let (block, _) = live.swap_remove(below(live.len() as u64) as usize);
                lines.push(format!("F {:x} 0", at(&block, &regions)));
                bfc.free(block.address, &mut regions).unwrap();
            } else {
                let asked = 1 + below(1 << 20);
                let reserved = regions.reserved();
                let block = bfc.take(Bytes(asked), LabelId(0), &mut regions).unwrap();
                if regions.reserved() > reserved {
                    let size = regions.reserved() - reserved;
                    let base = at(&block, &regions) - block.address.offset.0;
                    lines.push(format!("R {base:x} {} 64", size.0));
                }
                lines.push(line('A', &block, asked, &regions));
                live.push((block, asked));
            }
        }
        before.retain(|line| line.starts_with('R'));
        format!("# bfctrace v1\n{}\n{}\n", before.join("\n"), after.join("\n"))
    }

    fn at(block: &Block, regions: &Simulated) -> u64 {
        // Nothing begins at address 0, which means something else in a log.
        0x1000 + regions.base(block.address.region) + block.address.offset.0
    }

    fn line(kind: char, block: &Block, asked: u64, regions: &Simulated) -> String {
        format!("{kind} {:x} {asked} {} 0 op output 1", at(block, regions), block.bytes.0)
    }

    #[test]
    fn what_goes_on_from_the_recorded_pool_is_as_recorded() {
        for cut in [0, 40, 150, 333] {
            let recording = read(log_of_the_middle(400, cut).as_bytes()).unwrap();
            let comparison = compare_recording(&recording, &question(&["bfc"], None)).unwrap();
            let recorded = comparison.recorded.unwrap();
            assert_eq!(comparison.rows.len(), if cut == 0 { 1 } else { 2 }, "{cut}");
            let first = &comparison.rows[0];
            assert_eq!(first.allocator, if cut == 0 { "bfc" } else { RESUMED });
            assert!(cut > 0 || !recorded.bases.is_empty());
            assert_eq!(first.outcome.peak_in_use, recorded.peak_in_use, "{cut}");
            assert_eq!(Some(first.outcome.peak_reserved), recorded.peak_reserved, "{cut}");
            assert!(first.smallest_limit.unwrap() <= first.outcome.peak_reserved);
        }
    }

    #[test]
    fn settings_of_torch_reach_it() {
        let mut question = question(&["torch", "torch-expandable"], None);
        let names = |question: &Question| -> Vec<String> {
            compare(&trace(LATE), question).unwrap().rows.into_iter().map(|row| row.allocator).collect()
        };
        assert_eq!(names(&question), ["torch", "torch-expandable"]);
        question.options.torch = TorchOptions::parse("expandable_segments:True").unwrap();
        assert_eq!(names(&question), ["torch-expandable"]);
        question.options.torch = TorchOptions::parse("roundup_power2_divisions:1").unwrap();
        let peak = |question: &Question| compare(&trace(LATE), question).unwrap().rows[0].outcome.peak_in_use;
        let plain = peak(&question);
        question.options.torch = TorchOptions::parse("roundup_power2_divisions:2").unwrap();
        assert!(peak(&question) > plain, "7040 becomes 8192 instead of 7168");
    }

    #[test]
    fn running_out_says_where() {
        let comparison = compare(&trace(LATE), &question(&["best-fit", PLANNED], Some(7200))).unwrap();
        let [best_fit, planned] = &comparison.rows[..] else { panic!("two rows") };
        let shortage = best_fit.outcome.out_of_memory.unwrap();
        let figures = |s: Unmet| (s.event, s.requested.0, s.free.0, s.largest_free.0);
        assert_eq!(figures(shortage), (3, 7040, 7200 - 640, 6400));
        let shortage = planned.outcome.out_of_memory.unwrap();
        assert!(shortage.free.0 <= 7200 && shortage.largest_free <= shortage.free, "{shortage:?}");
    }

    #[test]
    fn absurd_requests_and_limits_are_answers() {
        let absurd =
            trace("0 take 0 at 0 bytes 8 label 0\n0 take 1 at 0 bytes 18446744073709551615 label 0\n");
        for limit in [None, Some(0), Some(64 << 20), Some(u64::MAX)] {
            let comparison = compare(&absurd, &question(&names(), limit)).unwrap();
            for row in &comparison.rows {
                assert_eq!(row.smallest_limit, None, "{}", row.allocator);
                let first = row.outcome.out_of_memory.map(|shortage| shortage.event);
                let expected = if limit == Some(0) && row.allocator != PLANNED { 0 } else { 1 };
                assert_eq!(first, Some(expected), "{} {limit:?}", row.allocator);
            }
        }
        let empty = compare(&trace(""), &question(&names(), Some(0))).unwrap();
        assert!(empty.rows.iter().all(|row| row.smallest_limit == Some(Bytes::ZERO)), "{empty:?}");
        let tiny = compare(&trace("0 take 0 at 0 bytes 0 label 0\n"), &question(&names(), None)).unwrap();
        assert!(tiny.rows.iter().all(|row| row.smallest_limit <= Some(Bytes::mib(20))), "{tiny:?}");
        let unknown = compare(&trace(""), &question(&["bcf"], None)).unwrap_err().to_string();
        assert!(unknown.ends_with("torch-expandable, best-fit, bump, planned"), "{unknown}");
    }
}
