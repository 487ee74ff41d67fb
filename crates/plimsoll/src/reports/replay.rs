//! What a recorded trace would cost under other allocators, and with a plan.

use crate::Bytes;
use crate::replay::{Comparison, Row};
use plimsoll_memory::replay::Unmet;
use plimsoll_trace::{Trace, happened};
use serde::Serialize;

/// What a recorded trace would cost under several allocators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayReport {
    /// The most bytes wanted at once: no allocator needs less.
    pub floor_bytes: Bytes,
    /// How many takes and frees there are.
    pub events: usize,
    /// Whether steps that are the same as earlier ones are replayed once only.
    pub shortened: bool,
    /// What allocators may take, where that was given.
    pub limit_bytes: Option<Bytes>,
    /// What the recording says of its own allocator.
    pub as_recorded: Option<RecordedRow>,
    /// A row for each allocator.
    pub allocators: Vec<ReplayRow>,
}

/// What a recording says of its own allocator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedRow {
    /// The most bytes in live blocks.
    pub peak_in_use_bytes: Bytes,
    /// The most bytes in regions, where they are recorded.
    pub peak_reserved_bytes: Option<Bytes>,
    /// How many blocks were live when the recording began.
    pub blocks_before: usize,
}

/// What a trace costs under one allocator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayRow {
    /// Its name.
    pub allocator: String,
    /// The most bytes in live blocks.
    pub peak_in_use_bytes: Bytes,
    /// The most bytes in regions.
    pub peak_reserved_bytes: Bytes,
    /// The largest share of the free bytes that was not in one piece.
    pub worst_fragmentation: f64,
    /// Where it ran out, if it did.
    pub out_of_memory: Option<RanOut>,
    /// The smallest limit at which it would meet all requests, if there is one.
    pub smallest_limit_bytes: Option<Bytes>,
}

/// Where an allocator ran out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RanOut {
    /// Before which event.
    pub event: usize,
    /// The op that asked, or the value where the op is not known.
    pub op: String,
    /// For how much.
    pub requested_bytes: Bytes,
    /// What was free.
    pub free_bytes: Bytes,
    /// The largest piece of it.
    pub largest_free_bytes: Bytes,
}

impl ReplayReport {
    /// The report of a comparison.
    pub fn of(comparison: &Comparison, trace: &Trace, limit: Option<Bytes>) -> Self {
        Self {
            floor_bytes: comparison.floor,
            events: comparison.events,
            shortened: happened(trace) > trace.events.len() as u64,
            limit_bytes: limit,
            as_recorded: comparison.recorded.as_ref().map(|recorded| RecordedRow {
                peak_in_use_bytes: recorded.peak_in_use,
                peak_reserved_bytes: recorded.peak_reserved,
                blocks_before: recorded.blocks_before,
            }),
            allocators: comparison.rows.iter().map(|one| row(one, trace)).collect(),
        }
    }
}

fn row(row: &Row, trace: &Trace) -> ReplayRow {
    ReplayRow {
        allocator: row.allocator.clone(),
        peak_in_use_bytes: row.outcome.peak_in_use,
        peak_reserved_bytes: row.outcome.peak_reserved,
        worst_fragmentation: row.outcome.worst_fragmentation,
        out_of_memory: row.outcome.out_of_memory.as_ref().map(|shortage| ran_out(shortage, trace)),
        smallest_limit_bytes: row.smallest_limit,
    }
}

fn ran_out(shortage: &Unmet, trace: &Trace) -> RanOut {
    let label = trace.labels.get(shortage.label.0 as usize);
    let op = label.map_or("", |label| if label.op.is_empty() { &label.value } else { &label.op });
    RanOut {
        event: shortage.event,
        op: op.to_string(),
        requested_bytes: shortage.requested,
        free_bytes: shortage.free,
        largest_free_bytes: shortage.largest_free,
    }
}
