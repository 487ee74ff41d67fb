//! What a recording says itself: the peaks of the allocator that was recorded, and how its pool stood when the
//! recording began.

use crate::bfctrace::{BfcEvent, BfcTrace};
use plimsoll_trace::{Bytes, Event, Offset, Trace, reserved};
use std::collections::HashMap;

/// What a recording says of its own allocator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The most bytes of live blocks, as that allocator counted them.
    pub peak_in_use: Bytes,
    /// The most bytes of its regions, where they are recorded.
    pub peak_reserved: Option<Bytes>,
    /// Where its regions begin, in the order in which they were got; of equal free blocks the lowest is taken.
    pub bases: Vec<u64>,
    /// How many blocks were live when the recording began.
    pub blocks_before: usize,
    /// How its pool stood then, where that is known to the byte.
    pub start: Option<Start>,
}

/// A pool in the middle of its work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Whose pool it is: `bfc` or `torch`.
    pub allocator: &'static str,
    /// The regions in the order in which they were got: where each begins and how long it is.
    pub regions: Vec<(u64, Bytes)>,
    /// Where regions begin that are got later.
    pub later: Vec<u64>,
    /// The blocks that are live, in the order of the trace, of which they are the first events.
    pub blocks: Vec<StartBlock>,
}

/// A block that is live at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartBlock {
    /// The number of its region.
    pub region: usize,
    /// From the start of the region.
    pub offset: Offset,
    /// How long it is, with what was given beyond the request; in PyTorch's snapshots, where it is gone at the end, as
    /// it was asked for.
    pub bytes: Bytes,
}

impl Start {
    /// Adds a block that lies in one of the regions; none where it does not.
    pub(crate) fn add(&mut self, address: u64, bytes: Bytes) -> Option<()> {
        let inside = |&(base, bytes): &(u64, Bytes)| address >= base && address - base < bytes.0;
        let region = self.regions.iter().position(inside)?;
        let offset = Offset(address - self.regions[region].0);
        self.blocks.push(StartBlock { region, offset, bytes });
        Some(())
    }
}

impl Recorded {
    /// Of a trace whose blocks are as long as they were given.
    pub fn of(trace: &Trace) -> Self {
        let mut live = Live::default();
        for event in &trace.events {
            match *event {
                Event::Take { block, bytes, .. } => live.take(block.0, bytes),
                Event::Free { block, .. } => live.free(block.0),
            }
        }
        let peak_reserved = reserved(trace).into_iter().map(|(_, bytes)| bytes).max();
        Self { peak_in_use: Bytes(live.peak), peak_reserved, ..Self::default() }
    }

    /// Of a log of TensorFlow's allocator.
    pub fn of_bfc(trace: &BfcTrace) -> Self {
        let mut live = Live::default();
        for event in &trace.events {
            match *event {
                BfcEvent::Take { block, chunk, .. } => live.take(block.0, chunk),
                BfcEvent::Free { block } => live.free(block.0),
                _ => {}
            }
        }
        let regions = trace.regions().fold(0u64, |sum, (_, bytes)| sum.saturating_add(bytes.0));
        let is_before = |event: &&BfcEvent| matches!(event, BfcEvent::Take { before: true, .. });
        Self {
            peak_in_use: Bytes(live.peak),
            peak_reserved: Some(Bytes(regions)).filter(|bytes| *bytes > Bytes::ZERO),
            bases: trace.regions().map(|(base, _)| base).collect(),
            blocks_before: trace.events.iter().filter(is_before).count(),
            start: start(trace),
        }
    }
}

/// What is live, and the most that was.
#[derive(Default)]
struct Live {
    blocks: HashMap<u32, u64>,
    sum: u64,
    peak: u64,
}

impl Live {
    fn take(&mut self, block: u32, bytes: Bytes) {
        self.blocks.insert(block, bytes.0);
        self.sum = self.sum.saturating_add(bytes.0);
        self.peak = self.peak.max(self.sum);
    }

    fn free(&mut self, block: u32) {
        self.sum = self.sum.saturating_sub(self.blocks.remove(&block).unwrap_or(0));
    }
}

/// The pool at the beginning of a log that has regions and then what is live in them; none for other logs.
fn start(trace: &BfcTrace) -> Option<Start> {
    let mut start = Start { allocator: "bfc", ..Start::default() };
    let mut begun = false;
    for event in &trace.events {
        match *event {
            BfcEvent::Region { base, bytes } if !begun => start.regions.push((base, bytes)),
            BfcEvent::Region { base, .. } => start.later.push(base),
            BfcEvent::Take { before: true, .. } if begun => return None,
            BfcEvent::Take { before: true, address, chunk, .. } => {
                start.add(address, chunk)?;
            }
            BfcEvent::Take { .. } | BfcEvent::Free { .. } => begun = true,
            BfcEvent::Failed { .. } | BfcEvent::Mark(_) => {}
        }
    }
    (!start.blocks.is_empty()).then_some(start)
}
