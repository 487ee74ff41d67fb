//! Allocation traces of TensorFlow's allocator, as a shim around it logs them: text, gzip or not.
//!
//! ```text
//! # bfctrace v1
//! R 7f679d095040 2097152 64                          a region: address, bytes, alignment
//! A 7f679d095140 16 256 0 Cast output 9              a block: address, requested, chunk, thread, op, region type, element type
//! F 7f679d095140 0                                   its free: address, thread
//! M step 1 begin                                     a mark
//! P 7f679d095240 8 256 0 Cast output 3               as A, for what was live when the log begins
//! W 4096 10000                                       a wait for another thread's free: requested, milliseconds
//! ```
//! An `A` at address 0 is an allocation that failed or asked for nothing. A free of address 0 does nothing.
//!
//! A log that begins with neither `R` nor `P` begins in the middle, as one whose first lines are cut off does: what it
//! frees without having seen it taken was live at its start. How long that was is not said; it ends below the first
//! block that was seen above it while it lived.

mod extents;
mod lines;

use extents::Extents;
use lines::{Line, Lines};
use plimsoll_trace::{About, BlockId, Bytes, Event, Label, LabelId, Offset, Time, Trace, What};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::ops::Bound;

/// What the first line begins with.
pub const HEADER: &str = "# bfctrace v1";

/// Reads a trace from its beginning to its end. Whether it is gzip is seen from its first bytes.
pub fn read(input: impl Read) -> Result<BfcTrace, BfcTraceError> {
    let mut lines = Lines::new(input)?;
    let mut reader = Reader::default();
    while let Some(line) = lines.next()? {
        reader.accept(line).map_err(|problem| lines.error(problem))?;
    }
    Ok(reader.finish())
}

/// What TensorFlow's allocator did, in order.
///
/// Equations, checked while reading: a freed block is live; no two live blocks overlap; where regions are given, a
/// block lies in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BfcTrace {
    /// What happened.
    pub events: Vec<BfcEvent>,
    /// Who blocks were for: the op, and the region type as the role.
    pub labels: Vec<Label>,
    /// How many allocations failed or asked for nothing.
    pub failed: usize,
    /// How many blocks are freed that the log never saw taken, because it begins in the middle. They stand first.
    pub inferred: usize,
}

/// Something the allocator did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BfcEvent {
    /// It got a region.
    Region {
        /// Where it begins.
        base: u64,
        /// How long it is.
        bytes: Bytes,
    },
    /// A block became live.
    Take {
        /// Counts the blocks.
        block: BlockId,
        /// Where it begins.
        address: u64,
        /// What was asked for.
        requested: Bytes,
        /// What was given.
        chunk: Bytes,
        /// Who it is for.
        label: LabelId,
        /// Whether it was live when the log began.
        before: bool,
    },
    /// An allocation failed, or asked for nothing.
    Failed {
        /// What was asked for.
        requested: Bytes,
        /// Who asked.
        label: LabelId,
    },
    /// A block's bytes are free again.
    Free {
        /// The block.
        block: BlockId,
    },
    /// The program said where it is.
    Mark(String),
}

/// A trace that cannot be read, and the line, counted from 1.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct BfcTraceError {
    /// The line.
    pub line: u64,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum Problem {
    #[error("the input ends or breaks here: {0}")]
    Broken(std::io::Error),
    #[error("the first line must begin with `{HEADER}`")]
    Header,
    #[error("a line of more than {} KiB", lines::LONGEST >> 10)]
    TooLong,
    #[error("the line is not UTF-8")]
    NotText,
    #[error("`{text}` is no event: {wanted}")]
    NoEvent { text: String, wanted: &'static str },
    #[error("the chunk has {chunk} bytes, fewer than the {requested} asked for")]
    Small { requested: u64, chunk: u64 },
    #[error("the block at {address:x} overlaps the live block at {other:x}")]
    Overlap { address: u64, other: u64 },
    #[error("the block at {address:x} lies in no region")]
    NoRegion { address: u64 },
    #[error("the first region stands after blocks that lie in none")]
    LateRegion,
    #[error("what begins at {address:x} ends beyond any address")]
    Absurd { address: u64 },
    #[error("a second free of {address:x}")]
    FreedTwice { address: u64 },
    #[error("a free of {address:x}, where no block was ever taken")]
    NeverTaken { address: u64 },
    #[error("more blocks than can be counted")]
    TooMany,
}

impl BfcTrace {
    /// Where each region begins and how long it is, in order.
    pub fn regions(&self) -> impl Iterator<Item = (u64, Bytes)> + '_ {
        self.events.iter().filter_map(|event| match event {
            BfcEvent::Region { base, bytes } => Some((*base, *bytes)),
            _ => None,
        })
    }

    fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.events.iter().filter_map(|event| match event {
            BfcEvent::Take { address, .. } => Some(*address),
            _ => None,
        })
    }

    /// As a trace of requested bytes, with the regions one after another; in a log without regions, from the lowest
    /// address. An event's time is its number.
    pub fn to_trace(&self) -> Trace {
        let mut regions = Regions::default();
        let lowest = self.addresses().min().unwrap_or(0);
        let events = Vec::with_capacity(self.events.len());
        let (origin, allocator) = ("log of TensorFlow's allocator".to_string(), "bfc".to_string());
        let about = About { origin, allocator, ..About::default() };
        let mut trace = Trace { about, labels: self.labels.clone(), events, ..Trace::default() };
        for event in &self.events {
            let time = Time(u32::try_from(trace.events.len()).unwrap_or(u32::MAX));
            match *event {
                BfcEvent::Region { base, bytes } => {
                    let offset = Offset(regions.total);
                    if regions.add(base, bytes.0).is_some() {
                        trace.mark(What::Region { offset, bytes });
                    }
                }
                BfcEvent::Take { block, address, requested, label, .. } => {
                    let offset = regions.find(address).map_or(Offset(address - lowest), |(offset, _)| offset);
                    trace.events.push(Event::Take { time, block, offset, bytes: requested, label });
                }
                BfcEvent::Free { block } => trace.events.push(Event::Free { time, block }),
                BfcEvent::Failed { requested: Bytes(0), .. } => {}
                BfcEvent::Failed { requested: bytes, label } => trace.mark(What::Refused { bytes, label }),
                BfcEvent::Mark(ref text) => step(text).into_iter().for_each(|step| trace.mark(step)),
            }
        }
        trace
    }
}

/// `step 0 begin` begins the first step.
fn step(mark: &str) -> Option<What> {
    let number: u64 = mark.strip_prefix("step ")?.strip_suffix(" begin")?.trim().parse().ok()?;
    Some(What::Step { number: number.checked_add(1)? })
}

/// The regions that exist, and where they would lie one after another.
#[derive(Default)]
struct Regions {
    /// By address: where a region ends, and what all regions before it have.
    regions: BTreeMap<u64, (u64, u64)>,
    total: u64,
}

impl Regions {
    /// Adds a region, unless it ends beyond any address.
    fn add(&mut self, base: u64, bytes: u64) -> Option<()> {
        let end = base.checked_add(bytes)?;
        let total = self.total.checked_add(bytes)?;
        // A region that was given back leaves no line, so its addresses may come again in another one.
        while let Some((&other, _)) =
            self.regions.range(..end).next_back().filter(|(_, (other_end, _))| *other_end > base)
        {
            self.regions.remove(&other);
        }
        self.regions.insert(base, (end, self.total));
        self.total = total;
        Some(())
    }

    /// Where an address would lie, and where its region ends in the real address space.
    fn find(&self, address: u64) -> Option<(Offset, u64)> {
        let (base, (end, before)) = self.regions.range(..=address).next_back()?;
        (address < *end).then(|| (Offset(before + (address - base)), *end))
    }
}

/// A trace that is being read, and what is live in it.
#[derive(Default)]
struct Reader {
    trace: BfcTrace,
    /// By address: where it ends, and its block.
    live: BTreeMap<u64, (u64, BlockId)>,
    regions: Regions,
    labels: HashMap<(String, String), LabelId>,
    /// Addresses at which a block once was, to tell a second free from a wrong one.
    seen: BTreeSet<u64>,
    blocks: u32,
    /// Whether the first lines are missing; unknown before the first event.
    middle: Option<bool>,
    /// What was live at the start of a log that begins in the middle.
    inferred: Vec<BfcEvent>,
    /// The longest chunk of the log.
    longest: u64,
    /// All addresses that blocks ever had.
    extents: Extents,
}

/// How long a block is at least.
const SHORTEST: u64 = 256;

impl Reader {
    fn accept(&mut self, line: Line<'_>) -> Result<(), Problem> {
        if !matches!(line, Line::Nothing | Line::Mark(_)) {
            let whole = matches!(line, Line::Region { .. } | Line::Take { before: true, .. });
            self.middle.get_or_insert(!whole);
        }
        let event = match line {
            Line::Nothing => return Ok(()),
            // Blocks before it lie in regions whose lines are missing.
            Line::Region { .. } if self.middle == Some(true) => return Ok(()),
            Line::Mark(text) => BfcEvent::Mark(text.to_string()),
            Line::Region { base, bytes } => self.region(base, bytes)?,
            Line::Take { address: 0, requested, op, kind, .. } => {
                self.trace.failed += 1;
                BfcEvent::Failed { requested: Bytes(requested), label: self.label(op, kind) }
            }
            Line::Take { address, requested, chunk, op, kind, before } => {
                let block = self.take(address, requested, chunk)?;
                let label = self.label(op, kind);
                let (requested, chunk) = (Bytes(requested), Bytes(chunk));
                BfcEvent::Take { block, address, requested, chunk, label, before }
            }
            Line::Free { address: 0 } => return Ok(()),
            Line::Free { address } => match self.live.remove(&address) {
                Some((_, block)) => BfcEvent::Free { block },
                None if self.seen.contains(&address) => return Err(Problem::FreedTwice { address }),
                None if self.middle == Some(true) => BfcEvent::Free { block: self.infer(address)? },
                None => return Err(Problem::NeverTaken { address }),
            },
        };
        self.trace.events.push(event);
        Ok(())
    }

    /// A block that was live when the log began. All that was seen so far was there beside it.
    fn infer(&mut self, address: u64) -> Result<BlockId, Problem> {
        if let Some(other) = self.extents.around(address) {
            return Err(Problem::Overlap { address, other });
        }
        let above = self.seen.range((Bound::Excluded(address), Bound::Unbounded)).next();
        let above = above.map(|next| next - address);
        let block = BlockId(self.blocks);
        self.blocks = self.blocks.checked_add(1).ok_or(Problem::TooMany)?;
        self.seen.insert(address);
        let room = Bytes(above.unwrap_or(u64::MAX));
        let label = self.label("-", "-");
        let before = true;
        self.inferred.push(BfcEvent::Take { block, address, requested: room, chunk: room, label, before });
        Ok(block)
    }

    /// The trace, with what was live at its start before everything else.
    fn finish(mut self) -> BfcTrace {
        self.inferred.sort_by_key(address_of);
        // The next one above was there as well.
        let mut above = u64::MAX;
        for event in self.inferred.iter_mut().rev() {
            if let BfcEvent::Take { address, requested, chunk, .. } = event {
                *chunk = Bytes(chunk.0.min(self.longest.max(SHORTEST)).min(above - *address));
                *requested = *chunk;
                above = *address;
            }
        }
        self.trace.inferred = self.inferred.len();
        if !self.inferred.is_empty() {
            self.inferred.append(&mut self.trace.events);
            self.trace.events = self.inferred;
        }
        self.trace
    }

    fn region(&mut self, base: u64, bytes: u64) -> Result<BfcEvent, Problem> {
        if self.regions.total == 0 && self.blocks > 0 {
            return Err(Problem::LateRegion);
        }
        self.regions.add(base, bytes).ok_or(Problem::Absurd { address: base })?;
        Ok(BfcEvent::Region { base, bytes: Bytes(bytes) })
    }

    fn take(&mut self, address: u64, requested: u64, chunk: u64) -> Result<BlockId, Problem> {
        if chunk < requested {
            return Err(Problem::Small { requested, chunk });
        }
        let end = address.checked_add(chunk).ok_or(Problem::Absurd { address })?;
        let inside = self.regions.find(address).is_some_and(|(_, region_end)| end <= region_end);
        if self.regions.total > 0 && !inside {
            return Err(Problem::NoRegion { address });
        }
        let other = self.live.range(..end.max(address + 1)).next_back();
        if let Some((&other, _)) =
            other.filter(|&(&other, &(other_end, _))| other == address || other_end > address)
        {
            return Err(Problem::Overlap { address, other });
        }
        let block = BlockId(self.blocks);
        self.blocks = self.blocks.checked_add(1).ok_or(Problem::TooMany)?;
        self.longest = self.longest.max(chunk);
        self.extents.add(address, end);
        self.live.insert(address, (end, block));
        self.seen.insert(address);
        Ok(block)
    }

    fn label(&mut self, op: &str, kind: &str) -> LabelId {
        let key = (op.to_string(), kind.to_string());
        let labels = &mut self.trace.labels;
        *self.labels.entry(key).or_insert_with(|| {
            let text = |word: &str| if word == "-" { String::new() } else { word.to_string() };
            labels.push(Label { value: text(op), role: text(kind), op: text(op), ..Label::default() });
            LabelId(labels.len() as u32 - 1)
        })
    }
}

fn address_of(event: &BfcEvent) -> u64 {
    if let BfcEvent::Take { address, .. } = event { *address } else { 0 }
}
