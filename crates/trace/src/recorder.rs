//! Records a run: writes what executors did to memory, step by step, and finds out which steps are the same as earlier
//! ones.
//!
//! It does not end a run: after the first error nothing more is written, and [`Recorder::finish`] tells of it.

use crate::file::Writer;
use crate::{About, Event, Label, Time, Trace, What};
use std::io::{Error, Result, Write};
use std::time::Duration;

/// What was collected is written at least so often, so that a process that is killed leaves what it did until then.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Records a run.
pub struct Recorder {
    writer: Writer<Box<dyn Write + Send>>,
    /// The first run of each program of a planned run.
    firsts: Vec<Option<First>>,
    /// The time at which the next run of a program begins.
    time: u32,
    flushed: Duration,
    failed: Option<Error>,
}

/// The first run of a program.
struct First {
    events: Vec<Event>,
    /// The first of its events in the file.
    from: usize,
}

impl Recorder {
    /// Writes the beginning.
    pub fn new(out: Box<dyn Write + Send>, about: &About) -> Result<Self> {
        let writer = Writer::new(out, about)?;
        Ok(Self { writer, firsts: Vec::new(), time: 0, flushed: Duration::ZERO, failed: None })
    }

    /// A step begins, so long after the recording did.
    pub fn step(&mut self, number: u64, elapsed: Duration) {
        self.clock(elapsed);
        self.writer.mark(What::Step { number });
        self.flush_in_time(elapsed);
    }

    /// What follows judges the model; it begins so long after the recording did.
    pub fn evaluation(&mut self, elapsed: Duration) {
        self.clock(elapsed);
        self.writer.mark(What::Evaluation);
        self.flush_in_time(elapsed);
    }

    /// So much time has gone by since the recording began.
    pub fn clock(&mut self, elapsed: Duration) {
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.writer.mark(What::Clock { nanoseconds });
    }

    /// A program ran from nothing live to nothing live. If it did the same before, event for event, only that is
    /// written.
    pub fn ran(&mut self, program: usize, recording: &Trace) {
        if self.firsts.len() <= program {
            self.firsts.resize_with(program + 1, || None);
        }
        match &self.firsts[program] {
            Some(First { events, from }) if *events == recording.events => {
                self.writer.mark(What::Again { from: *from, count: events.len() });
            }
            _ => self.first_run(program, recording),
        }
        self.flush(false);
    }

    /// Writes what was recorded since the last call and takes it out; labels stay.
    pub fn drain(&mut self, recording: &mut Trace) {
        self.add_labels(&recording.labels);
        let mut marks = recording.marks.iter().peekable();
        for (index, event) in recording.events.iter().enumerate() {
            while let Some(mark) = marks.next_if(|mark| mark.after <= index) {
                self.writer.mark(mark.what);
            }
            self.writer.event(event);
        }
        marks.for_each(|mark| self.writer.mark(mark.what));
        recording.events.clear();
        recording.marks.clear();
        self.flush(false);
    }

    /// Writes the end; says how many events are written out, or what went wrong on the way.
    pub fn finish(self) -> Result<u64> {
        let events = self.writer.events();
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.finish().map(|()| events),
        }
    }

    fn first_run(&mut self, program: usize, recording: &Trace) {
        let labels = self.writer.labels() as u32;
        recording.labels.iter().for_each(|label| self.writer.label(label));
        let from = self.writer.events() as usize;
        for event in &recording.events {
            let mut event = *event;
            match &mut event {
                Event::Take { time, label, .. } => {
                    *time = Time(time.0.saturating_add(self.time));
                    label.0 += labels;
                }
                Event::Free { time, .. } => *time = Time(time.0.saturating_add(self.time)),
            }
            self.writer.event(&event);
        }
        let last = recording.events.last().map_or(0, |event| event.time().0 + 1);
        self.time = self.time.saturating_add(last);
        self.firsts[program] = Some(First { events: recording.events.clone(), from });
    }

    fn add_labels(&mut self, labels: &[Label]) {
        let new = labels.get(self.writer.labels()..).unwrap_or_default();
        new.iter().for_each(|label| self.writer.label(label));
    }

    fn flush_in_time(&mut self, elapsed: Duration) {
        let late = elapsed.saturating_sub(self.flushed) >= FLUSH_EVERY;
        if late {
            self.flushed = elapsed;
        }
        self.flush(late);
    }

    fn flush(&mut self, late: bool) {
        if self.failed.is_some() {
            self.writer.forget();
            return;
        }
        let flushed = if late { self.writer.flush() } else { self.writer.flush_if_full() };
        self.failed = flushed.err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockId, Bytes, LabelId, Offset, file, happened, summarize, verify};
    use std::sync::{Arc, Mutex};

    /// A file that two can see.
    #[derive(Clone, Default)]
    struct Sheet(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Sheet {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            let mut sheet = self.0.lock().unwrap();
            if self.1 > 0 && sheet.len() > self.1 {
                return Err(Error::other("the disk is full"));
            }
            sheet.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn run(bytes: u64) -> Trace {
        let (time, block, offset, label) = (Time(3), BlockId(0), Offset(0), LabelId(0));
        let take = Event::Take { time, block, offset, bytes: Bytes(bytes), label };
        let events = vec![take, Event::Free { time: Time(4), block }];
        Trace { labels: vec![Label::default()], events, ..Trace::default() }
    }

    fn read(sheet: &Sheet) -> (Trace, bool) {
        file::read(&sheet.0.lock().unwrap()[..]).unwrap()
    }

    #[test]
    fn a_run_that_repeats_is_written_once_and_one_that_changes_is_written_again() {
        let sheet = Sheet::default();
        let mut recorder = Recorder::new(Box::new(sheet.clone()), &About::default()).unwrap();
        for (step, bytes) in [(1, 8), (2, 8), (3, 16), (4, 16)] {
            recorder.step(step, Duration::from_millis(step));
            recorder.ran(0, &run(bytes));
            recorder.ran(1, &run(64));
        }
        assert_eq!(recorder.finish().unwrap(), 6);
        let (trace, cut) = read(&sheet);
        verify(&trace).unwrap();
        assert!(!cut);
        assert_eq!((happened(&trace), summarize(&trace).peak), (16, Bytes(64)));
        let times: Vec<u32> = trace.events.iter().map(|event| event.time().0).collect();
        assert_eq!(times, [3, 4, 8, 9, 13, 14]);
    }

    #[test]
    fn what_was_flushed_can_be_read_though_nothing_follows() {
        let sheet = Sheet::default();
        let mut recorder = Recorder::new(Box::new(sheet.clone()), &About::default()).unwrap();
        for step in 1..5 {
            recorder.step(step, Duration::from_secs(step));
            recorder.ran(0, &run(8));
        }
        std::mem::forget(recorder);
        let (trace, cut) = read(&sheet);
        verify(&trace).unwrap();
        assert_eq!((cut, happened(&trace)), (true, 6), "all but the last step");
    }

    #[test]
    fn a_full_disk_is_told_at_the_end_and_costs_no_memory() {
        let sheet = Sheet(Arc::default(), 100);
        let mut recorder = Recorder::new(Box::new(sheet.clone()), &About::default()).unwrap();
        for step in 0..100_000 {
            recorder.step(step, Duration::from_secs(step));
            recorder.ran(0, &run(step % 9));
        }
        assert!(recorder.firsts.len() == 1 && recorder.failed.is_some());
        assert_eq!(recorder.finish().unwrap_err().to_string(), "the disk is full");
        assert!(read(&sheet).1, "what could be written is there");
    }
}
