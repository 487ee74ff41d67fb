//! A trace as an exhibit.

mod beside;
pub(crate) mod residents;
mod space;

use self::space::Space;
use super::{ACROSS_STEPS, Buffer, Clock, Doing, Exhibit, Kept, LARGEST, TextId};
use plimsoll_trace::{BlockId, Bytes, Event, LabelId, Offset, Time, Trace};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A trace that cannot be shown; events are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum ExhibitError {
    #[error("event {event} takes block {}, which is live already", .block.0)]
    TakenTwice { event: usize, block: BlockId },
    #[error("event {event} frees block {}, which is not live", .block.0)]
    NotLive { event: usize, block: BlockId },
    #[error("event {event} happened before the one it follows")]
    BackInTime { event: usize },
    #[error("event {event} names a label that does not exist")]
    UnknownLabel { event: usize },
    #[error("event {event} takes a block that ends beyond any memory there is")]
    Absurd { event: usize },
    #[error("the trace has {events} events, more than can be shown")]
    TooLong { events: usize },
}

/// The most events that are shown; a page with more would not fit a browser.
const MOST_EVENTS: usize = 20_000_000;

impl Exhibit {
    /// A trace as it is; whoever knows a limit or a name adds it.
    pub fn of_trace(trace: &Trace) -> Result<Self, ExhibitError> {
        if trace.events.len() > MOST_EVENTS {
            return Err(ExhibitError::TooLong { events: trace.events.len() });
        }
        let ticks = Ticks::of(trace);
        let mut exhibit = Exhibit { clock: ticks.clock, ticks: ticks.count, ..Exhibit::default() };
        let labels = Labels::of(trace, &mut exhibit);
        let space = Space::of(trace);
        let mut live: HashMap<BlockId, usize> = HashMap::new();
        let mut total = 0;
        for (event, what) in trace.events.iter().enumerate() {
            let tick = ticks.list[event];
            match *what {
                Event::Take { block, offset, bytes, label, .. } => {
                    let place = place(&space, offset, bytes).ok_or(ExhibitError::Absurd { event })?;
                    total += bytes.0;
                    // What is live together comes to a sum that a page can show.
                    if total > LARGEST {
                        return Err(ExhibitError::Absurd { event });
                    }
                    if live.insert(block, exhibit.buffers.len()).is_some() {
                        return Err(ExhibitError::TakenTwice { event, block });
                    }
                    let buffer = labels.buffer((place, bytes), label, tick..ticks.count);
                    exhibit.buffers.push(buffer.ok_or(ExhibitError::UnknownLabel { event })?);
                }
                Event::Free { block, .. } => {
                    let index = live.remove(&block).ok_or(ExhibitError::NotLive { event, block })?;
                    total -= exhibit.buffers[index].bytes.0;
                    exhibit.buffers[index].live.end = tick + 1;
                }
            }
        }
        if let Some(event) = trace.events.windows(2).position(|pair| pair[1].time() < pair[0].time()) {
            return Err(ExhibitError::BackInTime { event: event + 1 });
        }
        exhibit.ops = labels.ops(&exhibit);
        beside::add(&mut exhibit, trace, &ticks.list);
        exhibit.times = ticks.times;
        exhibit.length = trace.events.last().map(|event| event.time().0.saturating_add(1));
        residents::keep(&mut exhibit, trace);
        Ok(exhibit)
    }
}

/// Where a block is shown; nowhere if it is beyond any memory there is.
fn place(space: &Space, offset: Offset, bytes: Bytes) -> Option<Offset> {
    offset.0.checked_add(bytes.0)?;
    let place = space.place(offset.0);
    (place.checked_add(bytes.0)? <= LARGEST).then_some(Offset(place))
}

/// The tick of every event.
struct Ticks {
    clock: Clock,
    list: Vec<u32>,
    times: Vec<u32>,
    count: u32,
}

impl Ticks {
    /// A tick begins with a new time, and where something is taken after something was freed. Where every event has a
    /// time of its own, time only counts events, and a new one begins nothing.
    fn of(trace: &Trace) -> Self {
        let times: Vec<u32> = trace.events.iter().map(|event| event.time().0).collect();
        let counts = times.len() > 1 && times.windows(2).all(|pair| pair[0] < pair[1]);
        let clock = if counts { Clock::Events } else { Clock::Ops };
        let mut ticks = Self { clock, list: Vec::with_capacity(times.len()), times: Vec::new(), count: 0 };
        // Ops that take and free nothing have their tick, unless most of the time would be empty.
        let keep_gaps = !counts && (times.last().copied().unwrap_or(0) as usize) / 4 <= times.len() + 64;
        let mut freed = false;
        let mut now = Time(0);
        for event in &trace.events {
            let is_take = matches!(event, Event::Take { .. });
            let elapsed = event.time().0.saturating_sub(now.0);
            let steps = match (counts, keep_gaps) {
                (true, _) => 0,
                (false, true) => elapsed,
                (false, false) => elapsed.min(1),
            };
            let begins = if ticks.times.is_empty() { 1 + if keep_gaps { steps } else { 0 } } else { steps };
            let begins = if begins == 0 && is_take && freed { 1 } else { begins };
            for missing in (0..begins).rev() {
                ticks.times.push(event.time().0.saturating_sub(missing));
            }
            freed = !is_take || freed && begins == 0;
            now = event.time();
            ticks.list.push(ticks.times.len() as u32 - 1);
        }
        ticks.count = ticks.times.len() as u32;
        if ticks.times.iter().enumerate().all(|(tick, &time)| time as usize == tick) {
            ticks.times.clear();
        }
        ticks
    }
}

/// The labels of a trace as texts of the exhibit.
struct Labels {
    list: Vec<([TextId; 4], bool)>,
    /// Roles that live across steps.
    resident: HashSet<TextId>,
    input: TextId,
}

impl Labels {
    fn of(trace: &Trace, exhibit: &mut Exhibit) -> Self {
        let texts = &mut exhibit.texts;
        let list = trace.labels.iter().map(|label| {
            let names = [&label.value, &label.role, &label.layer, &label.op];
            (names.map(|text| texts.add(text)), label.again)
        });
        let list = list.collect();
        let resident = ACROSS_STEPS.map(|role| texts.add(role)).into();
        Self { list, resident, input: texts.add("input") }
    }

    fn buffer(&self, (offset, bytes): (Offset, Bytes), label: LabelId, live: Range<u32>) -> Option<Buffer> {
        let ([value, role, layer, op], again) = *self.list.get(label.0 as usize)?;
        let kept = if self.resident.contains(&role) { Kept::AcrossSteps } else { Kept::Unknown };
        Some(Buffer { live, offset, bytes, value, role, layer, op, again, kept })
    }

    /// What runs during each tick, as far as it took something.
    fn ops(&self, exhibit: &Exhibit) -> Vec<Doing> {
        if exhibit.clock == Clock::Events {
            return Vec::new();
        }
        let mut ops = vec![Doing::default(); exhibit.ticks as usize];
        let made = exhibit
            .buffers
            .iter()
            .filter(|buffer| !self.resident.contains(&buffer.role) && buffer.role != self.input);
        for Buffer { live, op, layer, .. } in made {
            let doing = &mut ops[live.start as usize];
            if *doing == Doing::default() {
                *doing = Doing { op: *op, layer: *layer };
            }
        }
        ops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    fn exhibit(events: &str) -> Result<Exhibit, ExhibitError> {
        Exhibit::of_trace(
            &text::parse(&format!("trace 1\nlabel \"a\" \"activation\" \"l\" \"op\"\n{events}")).unwrap(),
        )
    }

    fn lives(exhibit: &Exhibit) -> Vec<(u32, u32)> {
        exhibit.buffers.iter().map(|buffer| (buffer.live.start, buffer.live.end)).collect()
    }

    #[test]
    fn an_op_is_a_tick_even_where_nothing_happens() {
        let shown = exhibit(
            "0 take 0 at 0 bytes 8 label 0\n0 take 1 at 8 bytes 8 label 0\n0 free 1\n3 take 1 at 8 bytes 8 label 0\n3 free 0\n",
        )
        .unwrap();
        assert_eq!((shown.clock, shown.ticks, shown.times.len()), (Clock::Ops, 4, 0));
        assert_eq!(lives(&shown), [(0, 4), (0, 1), (3, 4)]);
        assert_eq!((shown.doing(3), shown.doing(1)), ("op of l".to_string(), String::new()));
    }

    #[test]
    fn what_takes_a_freed_place_at_once_gets_a_tick_of_its_own() {
        let shown = exhibit(
            "5 take 0 at 0 bytes 8 label 0\n5 free 0\n5 take 1 at 0 bytes 8 label 0\n5 take 2 at 8 bytes 8 label 0\n6 free 1\n",
        )
        .unwrap();
        assert_eq!(lives(&shown), [(5, 6), (6, 8), (6, 8)]);
        assert_eq!((shown.ticks, shown.time(5), shown.time(6), shown.time(7)), (8, 5, 5, 6));
    }

    #[test]
    fn events_that_only_count_are_put_together() {
        let shown = exhibit(
            "0 take 0 at 0 bytes 8 label 0\n1 take 1 at 8 bytes 8 label 0\n2 free 0\n3 take 2 at 0 bytes 8 label 0\n4 free 1\n",
        )
        .unwrap();
        assert_eq!((shown.clock, shown.ticks, shown.times.clone()), (Clock::Events, 2, vec![0, 3]));
        assert_eq!(lives(&shown), [(0, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn long_silences_cost_nothing() {
        let shown = exhibit(
            "7 take 0 at 0 bytes 8 label 0\n7 take 2 at 8 bytes 8 label 0\n4000000000 take 1 at 16 bytes 8 label 0\n4000000000 free 1\n",
        );
        let shown = shown.unwrap();
        assert_eq!((shown.ticks, shown.times.clone()), (2, vec![7, 4_000_000_000]));
    }

    #[test]
    fn nonsense_is_refused() {
        let b = BlockId(0);
        let take = "0 take 0 at 0 bytes 8 label 0\n";
        assert_eq!(exhibit(&format!("{take}{take}")), Err(ExhibitError::TakenTwice { event: 1, block: b }));
        assert_eq!(exhibit("0 free 0\n"), Err(ExhibitError::NotLive { event: 0, block: b }));
        assert_eq!(exhibit("0 take 0 at 0 bytes 8 label 7\n"), Err(ExhibitError::UnknownLabel { event: 0 }));
        let absurd = "0 take 0 at 18446744073709551615 bytes 8 label 0\n";
        assert_eq!(exhibit(absurd), Err(ExhibitError::Absurd { event: 0 }));
        assert_eq!(
            exhibit(&format!("3{}1 free 0\n", &take[1..])),
            Err(ExhibitError::BackInTime { event: 1 })
        );
        assert_eq!(exhibit("").map(|shown| shown.ticks), Ok(0));
    }
}
