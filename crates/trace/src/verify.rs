//! The verifier: could these events have happened?

use crate::{BlockId, Bytes, Event, Offset, Time, Trace};
use std::collections::HashMap;

/// An event that cannot have happened; events are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum TraceError {
    #[error("event {event} takes block {}, which is live already", .block.0)]
    TakenTwice { event: usize, block: BlockId },
    #[error("event {event} frees block {}, which is not live", .block.0)]
    NotLive { event: usize, block: BlockId },
    #[error("event {event} takes block {}, which overlaps live block {}", .block.0, .other.0)]
    Overlap { event: usize, block: BlockId, other: BlockId },
    #[error("event {event} happened before the one it follows")]
    BackInTime { event: usize },
    #[error("event {event} names a label that does not exist")]
    UnknownLabel { event: usize },
    #[error("event {event} takes a block that ends beyond any address")]
    Absurd { event: usize },
}

/// Checks the equations above the events, comparing each block with all live ones.
pub fn verify(trace: &Trace) -> Result<(), TraceError> {
    let mut live: HashMap<BlockId, (u64, u64)> = HashMap::new();
    let mut now = Time(0);
    for (event, what) in trace.events.iter().enumerate() {
        if what.time() < now {
            return Err(TraceError::BackInTime { event });
        }
        now = what.time();
        match *what {
            Event::Take { block, offset: Offset(start), bytes: Bytes(length), label, .. } => {
                let end = start.checked_add(length).ok_or(TraceError::Absurd { event })?;
                if label.0 as usize >= trace.labels.len() {
                    return Err(TraceError::UnknownLabel { event });
                }
                let overlaps = |&(_, &(s, e)): &(&BlockId, &(u64, u64))| s < end && start < e;
                if let Some((&other, _)) = live.iter().find(overlaps) {
                    return Err(TraceError::Overlap { event, block, other });
                }
                if live.insert(block, (start, end)).is_some() {
                    return Err(TraceError::TakenTwice { event, block });
                }
            }
            Event::Free { block, .. } => {
                live.remove(&block).ok_or(TraceError::NotLive { event, block })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, LabelId};

    fn verdict(events: &[(char, u32, u64, u64)]) -> Result<(), TraceError> {
        let events = events.iter().enumerate().map(|(i, &(kind, block, offset, bytes))| {
            let (time, block) = (Time(i as u32), BlockId(block));
            match kind {
                '+' => Event::Take {
                    time,
                    block,
                    offset: Offset(offset),
                    bytes: Bytes(bytes),
                    label: LabelId(0),
                },
                _ => Event::Free { time, block },
            }
        });
        verify(&Trace { labels: vec![Label::default()], events: events.collect() })
    }

    #[test]
    fn each_equation_is_checked() {
        let b = BlockId;
        assert_eq!(verdict(&[('+', 0, 0, 8), ('+', 1, 8, 8), ('-', 0, 0, 0), ('+', 0, 0, 8)]), Ok(()));
        assert_eq!(
            verdict(&[('+', 0, 0, 8), ('+', 0, 8, 8)]),
            Err(TraceError::TakenTwice { event: 1, block: b(0) })
        );
        assert_eq!(verdict(&[('-', 3, 0, 0)]), Err(TraceError::NotLive { event: 0, block: b(3) }));
        assert_eq!(
            verdict(&[('+', 0, 0, 8), ('+', 1, 7, 8)]),
            Err(TraceError::Overlap { event: 1, block: b(1), other: b(0) })
        );
        assert_eq!(verdict(&[('+', 0, u64::MAX, 8)]), Err(TraceError::Absurd { event: 0 }));
    }
}
