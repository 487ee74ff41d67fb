//! What happened beside the blocks: steps, clocks, regions, requests that were refused, and events that happened again.

use crate::{Bytes, LabelId, Offset, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that happened beside the blocks, and where it stands among the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// How many events happened before it.
    pub after: usize,
    /// What happened.
    pub what: What,
}

/// What happened beside the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A step begins.
    Step {
        /// Counted from 1.
        number: u64,
    },
    /// Training is over for now: what follows judges the model.
    Evaluation,
    /// A clock was read.
    Clock {
        /// Since the recording began.
        nanoseconds: u64,
    },
    /// From here on the region that begins at an offset has so many bytes; none once it was given back.
    Region {
        /// Where it begins.
        offset: Offset,
        /// How long it is.
        bytes: Bytes,
    },
    /// Somebody asked for bytes and did not get them.
    Refused {
        /// What was asked for.
        bytes: Bytes,
        /// Who asked.
        label: LabelId,
    },
    /// Earlier events happen once more, with nothing else live: the step is the same as one that is written out. Times
    /// do not count them.
    Again {
        /// The first of them.
        from: usize,
        /// How many they are.
        count: usize,
    },
}

/// What the regions have together: after how many events, how many bytes from then on. Empty where the trace says
/// nothing of regions.
pub fn reserved(trace: &Trace) -> Vec<(usize, Bytes)> {
    let mut regions: BTreeMap<Offset, Bytes> = BTreeMap::new();
    let mut total = 0u64;
    let mut line: Vec<(usize, Bytes)> = Vec::new();
    for mark in &trace.marks {
        let What::Region { offset, bytes } = mark.what else { continue };
        let before = regions.insert(offset, bytes).unwrap_or_default();
        total = total.saturating_sub(before.0).saturating_add(bytes.0);
        match line.last_mut() {
            Some((after, sum)) if *after == mark.after => *sum = Bytes(total),
            _ => line.push((mark.after, Bytes(total))),
        }
    }
    line
}

/// How many events really happened: those that are written out, and those that happened again.
pub fn happened(trace: &Trace) -> u64 {
    let again = trace.marks.iter().map(|mark| match mark.what {
        What::Again { count, .. } => count as u64,
        _ => 0,
    });
    again.fold(trace.events.len() as u64, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_add_up() {
        let region = |after, offset, bytes| Mark {
            after,
            what: What::Region { offset: Offset(offset), bytes: Bytes(bytes) },
        };
        let marks = vec![region(0, 0, 8), region(0, 100, 4), region(3, 0, 16), region(5, 100, 0)];
        let trace = Trace { marks, ..Trace::default() };
        assert_eq!(reserved(&trace), [(0, Bytes(12)), (3, Bytes(20)), (5, Bytes(16))]);
        assert_eq!(happened(&trace), 0);
    }
}
