//! What a trace comes to: peak, floor, who is live at the worst moment.

use crate::{BlockId, Bytes, Event, LabelId, Offset, Time, Trace};
use std::collections::BTreeMap;

/// A trace in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The highest end of a live block.
    pub peak: Bytes,
    /// The most bytes live at once.
    pub floor: Bytes,
    /// When the most bytes were live.
    pub floor_time: Time,
    /// What was live then: label, bytes; in the order of their offsets.
    pub live_at_floor: Vec<(LabelId, Bytes)>,
    /// Live bytes after each time at which something changed.
    pub timeline: Vec<Moment>,
}

/// Live bytes at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub time: Time,
    /// The most bytes live at once during it.
    pub live: Bytes,
}

impl Summary {
    /// What the layout takes beyond what is live.
    pub fn fragmentation(&self) -> Bytes {
        self.peak.saturating_sub(self.floor)
    }
}

/// Walks a trace once. Frees of unknown blocks are passed over: `verify` names them.
pub fn summarize(trace: &Trace) -> Summary {
    let mut summary = Summary::default();
    let mut live = Live::default();
    for event in &trace.events {
        live.apply(event);
        if let Event::Take { offset, bytes, time, .. } = *event {
            summary.peak = summary.peak.max((offset + bytes).distance());
            if live.bytes > summary.floor {
                summary.floor = live.bytes;
                summary.floor_time = time;
            }
        }
        note(&mut summary.timeline, event.time(), live.bytes);
    }
    summary.live_at_floor = live_when_full(trace, summary.floor);
    summary
}

/// What is live at some point of a trace.
#[derive(Default)]
struct Live {
    blocks: BTreeMap<BlockId, (Offset, LabelId, Bytes)>,
    bytes: Bytes,
}

impl Live {
    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Take { block, offset, bytes, label, .. } => {
                self.blocks.insert(block, (offset, label, bytes));
                self.bytes += bytes;
            }
            Event::Free { block, .. } => {
                let freed = self.blocks.remove(&block).map_or(Bytes::ZERO, |(_, _, bytes)| bytes);
                self.bytes = self.bytes.saturating_sub(freed);
            }
        }
    }
}

fn note(timeline: &mut Vec<Moment>, time: Time, live: Bytes) {
    match timeline.last_mut() {
        Some(moment) if moment.time == time => moment.live = moment.live.max(live),
        _ => timeline.push(Moment { time, live }),
    }
}

/// A second walk up to the first moment at which as many bytes as `floor` are live.
fn live_when_full(trace: &Trace, floor: Bytes) -> Vec<(LabelId, Bytes)> {
    let mut live = Live::default();
    for event in &trace.events {
        if live.bytes == floor {
            break;
        }
        live.apply(event);
    }
    let mut blocks: Vec<_> = live.blocks.into_values().collect();
    blocks.sort_unstable();
    blocks.into_iter().map(|(_, label, bytes)| (label, bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;

    #[test]
    fn peak_floor_and_fragmentation() {
        let mut trace = Trace::default();
        let label = trace.add_label(Label::default());
        let take = |time, block, offset, bytes| Event::Take {
            time: Time(time),
            block: BlockId(block),
            offset: Offset(offset),
            bytes: Bytes(bytes),
            label,
        };
        let free = |time, block| Event::Free { time: Time(time), block: BlockId(block) };
        trace.events =
            vec![take(0, 0, 0, 100), take(1, 1, 100, 50), free(1, 0), take(2, 2, 150, 60), free(2, 1)];
        let summary = summarize(&trace);
        assert_eq!((summary.peak, summary.floor, summary.floor_time), (Bytes(210), Bytes(150), Time(1)));
        assert_eq!(summary.fragmentation(), Bytes(60));
        assert_eq!(summary.live_at_floor, [(label, Bytes(100)), (label, Bytes(50))]);
        let live: Vec<_> = summary.timeline.iter().map(|moment| moment.live.0).collect();
        assert_eq!(live, [100, 150, 110]);
    }
}
