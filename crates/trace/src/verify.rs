//! The verifier: could these events have happened?

use crate::{BlockId, Bytes, Event, Mark, Offset, Time, Trace, What};
use std::collections::HashMap;

/// An event or mark that cannot have happened; both are counted from 0.
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
    #[error("mark {mark} stands before the one it follows, or behind events that are not there")]
    Misplaced { mark: usize },
    #[error("mark {mark} names a label that does not exist")]
    UnknownAsker { mark: usize },
    #[error("mark {mark} is a region that ends beyond any address")]
    AbsurdRegion { mark: usize },
    #[error(
        "mark {mark} repeats events that are not there before it, or that do not begin and end with nothing live"
    )]
    NotAgain { mark: usize },
}

/// Checks the equations above the events, comparing each block with all live ones.
pub fn verify(trace: &Trace) -> Result<(), TraceError> {
    let mut live: HashMap<BlockId, (u64, u64)> = HashMap::new();
    let mut now = Time(0);
    // Whether nothing is live after so many events.
    let mut idle = vec![true];
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
        idle.push(live.is_empty());
    }
    verify_marks(trace, &idle)
}

fn verify_marks(trace: &Trace, idle: &[bool]) -> Result<(), TraceError> {
    let mut last = 0;
    for (mark, &Mark { after, what }) in trace.marks.iter().enumerate() {
        if after < last || after > trace.events.len() {
            return Err(TraceError::Misplaced { mark });
        }
        last = after;
        match what {
            What::Step { .. } | What::Evaluation | What::Clock { .. } => {}
            What::Refused { label, .. } if label.0 as usize >= trace.labels.len() => {
                return Err(TraceError::UnknownAsker { mark });
            }
            What::Refused { .. } => {}
            What::Region { offset, bytes } => {
                offset.0.checked_add(bytes.0).ok_or(TraceError::AbsurdRegion { mark })?;
            }
            What::Again { from, count } => {
                let to = from.checked_add(count).filter(|to| *to <= after);
                if !to.is_some_and(|to| idle[from] && idle[to] && idle[after]) {
                    return Err(TraceError::NotAgain { mark });
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, LabelId};

    fn trace(events: &[(char, u32, u64, u64)]) -> Trace {
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
        Trace { labels: vec![Label::default()], events: events.collect(), ..Trace::default() }
    }

    fn verdict(events: &[(char, u32, u64, u64)]) -> Result<(), TraceError> {
        verify(&trace(events))
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

    #[test]
    fn marks_are_checked() {
        let verdict = |marks: &[(usize, What)]| {
            let marks = marks.iter().map(|&(after, what)| Mark { after, what }).collect();
            verify(&Trace { marks, ..trace(&[('+', 0, 0, 8), ('-', 0, 0, 0), ('+', 0, 0, 8)]) })
        };
        let step = What::Step { number: 1 };
        let again = |from, count| What::Again { from, count };
        let refused = |label| What::Refused { bytes: Bytes(1), label: LabelId(label) };
        assert_eq!(verdict(&[(0, step), (2, again(0, 2)), (2, refused(0)), (3, step)]), Ok(()));
        assert_eq!(verdict(&[(1, step), (0, step)]), Err(TraceError::Misplaced { mark: 1 }));
        assert_eq!(verdict(&[(4, step)]), Err(TraceError::Misplaced { mark: 0 }));
        assert_eq!(verdict(&[(0, refused(1))]), Err(TraceError::UnknownAsker { mark: 0 }));
        let region = What::Region { offset: Offset(1), bytes: Bytes(u64::MAX) };
        assert_eq!(verdict(&[(0, region)]), Err(TraceError::AbsurdRegion { mark: 0 }));
        for (after, what) in [
            (2, again(0, 1)),
            (2, again(1, 1)),
            (1, again(0, 2)),
            (3, again(0, 2)),
            (2, again(1, usize::MAX)),
        ] {
            assert_eq!(verdict(&[(after, what)]), Err(TraceError::NotAgain { mark: 0 }), "{what:?}");
        }
    }
}
