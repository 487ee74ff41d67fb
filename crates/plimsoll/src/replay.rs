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
    ALLOCATOR_NAMES, Address, Allocator, AllocatorOptions, Bfc, BfcOptions, Block, RegionId, Simulated,
    Torch, UnknownAllocator as NoAllocator, by_name,
};
use plimsoll_plan::{Interval, Placement, place};
use plimsoll_trace::{Alignment, Bytes, LabelId, Trace, TraceError};

pub use plimsoll_import::recorded::{Recorded, Start};
pub use plimsoll_import::recording::{Recording, RecordingError, read};

/// How the name of an allocator ends that goes on from the pool as it was recorded.
pub const RESUMED: &str = ", going on";

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
        && question.plain().allocators.iter().any(|name| name == start.allocator)
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

/// The allocator that was recorded, going on from its pool. TensorFlow's grows, unless its one region had the whole
/// limit.
fn resumed_row(requests: &Requests, start: &Start, question: &Question) -> Option<Row> {
    let sizes: Vec<Bytes> = start.regions.iter().map(|(_, bytes)| *bytes).collect();
    let bases: Vec<u64> = start.regions.iter().map(|(base, _)| *base).chain(start.later.clone()).collect();
    let block = |region: usize, offset, bytes| Block {
        address: Address { region: RegionId(region as u32), offset },
        bytes,
    };
    let live: Vec<Block> =
        start.blocks.iter().map(|known| block(known.region, known.offset, known.bytes)).collect();
    let make = |live: &[(Block, LabelId)], regions: &mut Simulated| -> Option<Box<dyn Allocator>> {
        let bfc = BfcOptions { growth: true, ..question.options.bfc };
        Some(match start.allocator {
            "torch" => Box::new(Torch::resume(question.options.torch, &sizes, live, regions)?),
            _ => Box::new(Bfc::resume(bfc, &sizes, live, regions)?),
        })
    };
    let at = |limit: Bytes| resume(requests, &live, Simulated::with_bases(limit, bases.clone()), make);
    let outcome = at(question.limit.unwrap_or(UNLIMITED))?;
    let enough = |limit: Bytes| at(limit).is_some_and(|outcome| outcome.out_of_memory.is_none());
    // The pool has its regions already: no limit below them means anything.
    let most =
        at(UNLIMITED).filter(|outcome| outcome.out_of_memory.is_none()).map(|outcome| outcome.peak_reserved);
    let least: Bytes = sizes.iter().copied().sum();
    let smallest_limit = most.map(|most| border(least, most, enough));
    Some(Row { allocator: format!("{}{RESUMED}", start.allocator), outcome, smallest_limit })
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
mod tests;
