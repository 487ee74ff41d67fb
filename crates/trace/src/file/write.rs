//! Writes traces, whole or as they happen.

use super::encoding::{Expectation, difference, put};
use super::{
    ABOUT, AGAIN, AGAIN_SAME, CLOCK, END, EVALUATION, FREE, HEADER, LABEL, LABEL_AGAIN, NEXT_BLOCK,
    NEXT_LABEL, REFUSED, REGION, SAME_BYTES, SAME_OFFSET, SAME_TIME, STEP, TAKE,
};
use crate::{About, Event, Label, Trace, What};
use std::collections::HashMap;
use std::io::{Result, Write};

/// So many bytes are collected before they are written.
const FULL: usize = 16 << 10;

/// Writes a whole trace.
pub fn write(trace: &Trace, out: impl Write) -> Result<()> {
    let mut writer = Writer::new(out, &trace.about)?;
    trace.labels.iter().for_each(|label| writer.label(label));
    let mut marks = trace.marks.iter().peekable();
    for (index, event) in trace.events.iter().enumerate() {
        while let Some(mark) = marks.next_if(|mark| mark.after <= index) {
            writer.mark(mark.what);
        }
        writer.event(event);
        writer.flush_if_full()?;
    }
    marks.for_each(|mark| writer.mark(mark.what));
    writer.finish()
}

/// Writes a trace as it happens.
///
/// Records are collected in memory, where they cost no call to the system and, once it has grown, no allocation;
/// [`Self::flush_if_full`] and [`Self::flush`] write them. What was flushed can be read even if nothing follows.
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    expected: Expectation,
    words: HashMap<String, u64>,
    last_word: String,
    events: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the beginning.
    pub fn new(mut out: W, about: &About) -> Result<Self> {
        let json = serde_json::to_vec(about).expect("what a trace is of is plain data");
        let mut buffer = Vec::with_capacity(2 * FULL);
        buffer.extend(HEADER.as_bytes());
        buffer.push(ABOUT);
        put(&mut buffer, json.len() as u64);
        buffer.extend(json);
        out.write_all(&buffer)?;
        out.flush()?;
        buffer.clear();
        let (expected, words, last_word) = (Expectation::default(), HashMap::new(), String::new());
        Ok(Self { out, buffer, expected, words, last_word, events: 0 })
    }

    /// How many events there are so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many labels there are so far.
    pub fn labels(&self) -> usize {
        self.expected.takes.len()
    }

    /// Adds a label; they are numbered in this order.
    pub fn label(&mut self, label: &Label) {
        let Label { value, role, layer, op, again } = label;
        self.buffer.push(if *again { LABEL_AGAIN } else { LABEL });
        [value, role, layer, op].into_iter().for_each(|name| self.name(name));
        self.expected.takes.push((0, 0));
    }

    /// Adds an event.
    pub fn event(&mut self, event: &Event) {
        match *event {
            Event::Take { .. } => self.take(event),
            Event::Free { time, block } => {
                let same_time = time.0 == self.expected.time;
                self.buffer.push(FREE | if same_time { SAME_TIME } else { 0 });
                if !same_time {
                    put(&mut self.buffer, difference(time.0.into(), self.expected.time.into()));
                }
                put(&mut self.buffer, difference(self.expected.block.into(), block.0.into()));
            }
        }
        self.expected.event(event);
        self.events += 1;
    }

    /// Adds a mark.
    pub fn mark(&mut self, what: What) {
        let (into, expected) = (&mut self.buffer, &self.expected);
        let mut record = |kind: u8, numbers: &[u64]| {
            into.push(kind);
            numbers.iter().for_each(|number| put(into, *number));
        };
        match what {
            What::Step { number } => record(STEP, &[difference(number, expected.step)]),
            What::Evaluation => record(EVALUATION, &[]),
            What::Clock { nanoseconds } => record(CLOCK, &[difference(nanoseconds, expected.clock)]),
            What::Region { offset, bytes } => record(REGION, &[offset.0, bytes.0]),
            What::Refused { bytes, label } => record(REFUSED, &[bytes.0, label.0.into()]),
            What::Again { from, count } if (from, count) == expected.again => record(AGAIN_SAME, &[]),
            What::Again { from, count } => record(AGAIN, &[from as u64, count as u64]),
        }
        self.expected.mark(what);
    }

    /// Writes what was collected, if it is much.
    pub fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Writes what was collected.
    pub fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }

    /// Throws away what was collected.
    pub(crate) fn forget(&mut self) {
        self.buffer.clear();
    }

    /// Writes the end, without which the file counts as cut.
    pub fn finish(mut self) -> Result<()> {
        self.buffer.push(END);
        put(&mut self.buffer, self.events);
        self.flush()
    }

    fn take(&mut self, event: &Event) {
        let &Event::Take { time, block, offset, bytes, label } = event else { return };
        let (into, expected) = (&mut self.buffer, &self.expected);
        let last = expected.last_take(label);
        let flags = [
            (SAME_TIME, time.0 == expected.time),
            (NEXT_BLOCK, block.0 == expected.block),
            (NEXT_LABEL, label.0 == expected.label),
            (SAME_BYTES, last.is_some_and(|last| last.1 == bytes.0)),
            (SAME_OFFSET, last.is_some_and(|last| last.0 == offset.0)),
        ];
        into.push(flags.iter().fold(TAKE, |first, (flag, is_set)| first | if *is_set { *flag } else { 0 }));
        let numbers = [
            difference(time.0.into(), expected.time.into()),
            difference(block.0.into(), expected.block.into()),
            difference(label.0.into(), expected.label.into()),
            bytes.0,
            difference(offset.0, expected.end),
        ];
        for (number, (_, is_set)) in numbers.into_iter().zip(flags) {
            if !is_set {
                put(into, number);
            }
        }
    }

    /// A name is its words between slashes. Each is a number, doubled, plus 1 for the last of a name: 0 for a new word,
    /// otherwise that of an earlier one, counted from 1.
    fn name(&mut self, name: &str) {
        let mut words = name.split('/').peekable();
        while let Some(word) = words.next() {
            let last = u64::from(words.peek().is_none());
            match self.words.get(word) {
                Some(number) => put(&mut self.buffer, number << 1 | last),
                None => {
                    put(&mut self.buffer, last);
                    self.new_word(word);
                }
            }
        }
    }

    fn new_word(&mut self, word: &str) {
        let shared = word.bytes().zip(self.last_word.bytes()).take_while(|(a, b)| a == b).count();
        // Half a character cannot be shared.
        let shared = (0..=shared).rev().find(|at| word.is_char_boundary(*at)).unwrap_or(0);
        let rest = &word.as_bytes()[shared..];
        put(&mut self.buffer, shared as u64);
        put(&mut self.buffer, rest.len() as u64);
        self.buffer.extend(rest);
        let number = self.words.len() as u64 + 1;
        self.words.insert(word.to_string(), number);
        self.last_word = word.to_string();
    }
}
