//! A trace with its repeated steps written out and every event on a clock.

use plimsoll_trace::{Bytes, Event, LabelId, Trace, What};

/// Events beyond so many are not repeated.
const MOST_EVENTS: usize = 1_000_000;

/// What happened, in order.
pub(super) struct Unrolled {
    /// What happened and after how many ops.
    pub(super) happenings: Vec<(u64, Happening)>,
    /// How many repetitions are left out.
    pub(super) left_out: usize,
    /// After how many ops a clock was read, and its nanoseconds.
    clocks: Vec<(u64, u64)>,
    /// When everything was over.
    pub(super) end: u64,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// The event of this number.
    Event(usize),
    /// A step began.
    Step(u64),
    /// The model is judged from here on.
    Evaluation,
    /// The regions have so many bytes together.
    Reserved(Bytes),
    /// Somebody did not get what was asked for.
    Refused(Bytes, LabelId),
}

impl Unrolled {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut this = Self { happenings: Vec::new(), left_out: 0, clocks: Vec::new(), end: 0 };
        let mut reserved = plimsoll_trace::reserved(trace).into_iter().peekable();
        // How much later the events that follow are than their own times say.
        let mut shift = 0;
        let mut marks = trace.marks.iter().peekable();
        for index in 0..=trace.events.len() {
            if let Some((_, bytes)) = reserved.next_if(|(after, _)| *after == index) {
                this.happenings.push((this.end, Happening::Reserved(bytes)));
            }
            while let Some(mark) = marks.next_if(|mark| mark.after <= index) {
                shift += this.mark(trace, mark.what);
            }
            if let Some(event) = trace.events.get(index) {
                this.push(u64::from(event.time().0) + shift, index);
            }
        }
        this
    }

    /// The microseconds after which the op of this number began.
    pub(super) fn microseconds(&self, op: u64) -> f64 {
        let after = self.clocks.partition_point(|(at, _)| *at <= op);
        let (from, to) = match (after.checked_sub(1), self.clocks.get(after)) {
            (None, None) => return op as f64,
            // Before the first clock everything is there already.
            (None, Some((_, nanoseconds))) => return *nanoseconds as f64 / 1000.0,
            (Some(last), Some(next)) => (self.clocks[last], *next),
            // Behind the last clock things go on as before it.
            (Some(last), None) => {
                let (at, nanoseconds) = self.clocks[last];
                let pace = match last.checked_sub(1).map(|before| self.clocks[before]) {
                    Some((earlier, then)) => (nanoseconds - then) / (at - earlier).max(1),
                    None => 1000,
                };
                (self.clocks[last], (at + 1, nanoseconds.saturating_add(pace)))
            }
        };
        let share = (op - from.0) as f64 / (to.0 - from.0) as f64;
        (from.1 as f64 + share * (to.1 - from.1) as f64) / 1000.0
    }

    /// The microseconds of each happening: those of an op are spread over it, so that what is taken before it and freed
    /// after it keeps its order.
    pub(super) fn times(&self) -> Vec<f64> {
        let mut times = Vec::with_capacity(self.happenings.len());
        for group in self.happenings.chunk_by(|(a, _), (b, _)| a == b) {
            let (from, to) = (self.microseconds(group[0].0), self.microseconds(group[0].0 + 1));
            let each = (to - from).max(0.0) / group.len() as f64;
            times.extend((0..group.len()).map(|index| from + each * index as f64));
        }
        times
    }

    fn push(&mut self, op: u64, event: usize) {
        self.happenings.push((op, Happening::Event(event)));
        self.end = self.end.max(op + 1);
    }

    /// Does what a mark says; gives the ops by which everything after it is later.
    fn mark(&mut self, trace: &Trace, what: What) -> u64 {
        match what {
            What::Step { number } => self.happenings.push((self.end, Happening::Step(number))),
            What::Evaluation => self.happenings.push((self.end, Happening::Evaluation)),
            What::Refused { bytes, label } => {
                self.happenings.push((self.end, Happening::Refused(bytes, label)));
            }
            What::Clock { nanoseconds } => match self.clocks.last_mut() {
                // A clock that goes backwards is no clock.
                Some((_, last)) if *last > nanoseconds => {}
                Some((at, last)) if *at == self.end => *last = nanoseconds,
                _ => self.clocks.push((self.end, nanoseconds)),
            },
            What::Region { .. } => {}
            What::Again { from, count } => return self.repeat(trace, from, count),
        }
        0
    }

    fn repeat(&mut self, trace: &Trace, from: usize, count: usize) -> u64 {
        let range = from.checked_add(count).and_then(|to| trace.events.get(from..to));
        let Some(range) = range.filter(|range| !range.is_empty()) else { return 0 };
        if self.happenings.len().saturating_add(count) > MOST_EVENTS {
            self.left_out += 1;
            return 0;
        }
        let (start, first) = (self.end, range[0].time().0);
        for (index, event) in range.iter().enumerate() {
            self.push(start + u64::from(event.time().0.saturating_sub(first)), from + index);
        }
        self.end - start
    }
}

/// The event of a happening, if it is one.
pub(super) fn event_of(trace: &Trace, happening: Happening) -> Option<&Event> {
    match happening {
        Happening::Event(index) => trace.events.get(index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    #[test]
    fn repeated_steps_are_written_out_between_their_clocks() {
        let text = "trace 1\nlabel \"a\" \"\" \"\" \"\"\nclock 1000\nstep 1\n0 take 0 at 0 bytes 8 label 0\n1 free 0\nclock 3000\nstep 2\nagain 0 count 2\nclock 7000\n2 take 0 at 0 bytes 8 label 0\n";
        let unrolled = Unrolled::new(&text::parse(text).unwrap());
        let events: Vec<(u64, usize)> = unrolled
            .happenings
            .iter()
            .filter_map(
                |(op, what)| if let Happening::Event(index) = what { Some((*op, *index)) } else { None },
            )
            .collect();
        assert_eq!(events, [(0, 0), (1, 1), (2, 0), (3, 1), (4, 2)]);
        let times: Vec<f64> = (0..6).map(|op| unrolled.microseconds(op)).collect();
        assert_eq!(times, [1.0, 2.0, 3.0, 5.0, 7.0, 9.0], "the last ones at the pace of the ones before");
        assert_eq!((unrolled.end, unrolled.left_out), (5, 0));
        assert_eq!(unrolled.times(), [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]);
    }

    #[test]
    fn a_million_is_enough() {
        let mut text = "trace 1\nlabel \"a\" \"\" \"\" \"\"\n".to_string();
        (0..1000).for_each(|_| text.push_str("0 take 0 at 0 bytes 8 label 0\n1 free 0\n"));
        (0..1000).for_each(|_| text.push_str("again 0 count 2000\n"));
        let unrolled = Unrolled::new(&text::parse(&text).unwrap());
        assert_eq!((unrolled.happenings.len(), unrolled.left_out), (1_000_000, 501));
    }
}
