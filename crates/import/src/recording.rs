//! Traces of any kind we know, told apart by their first bytes: our own forms, logs of TensorFlow's allocator,
//! TensorFlow's profiles and PyTorch's snapshots. Gzip or not.

use crate::bfctrace::{self, BfcTrace, BfcTraceError};
use crate::gzip::Unpacked;
use crate::recorded::Recorded;
use crate::snapshot::{self, SnapshotError};
use crate::xplane::{self, ProfileError};
use plimsoll_trace::file::{self, FileError};
use plimsoll_trace::text::{self, TextError};
use plimsoll_trace::{Event, Trace};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};

/// How much text is read.
const LARGEST_TEXT: u64 = 512 << 20;

/// Reads a trace to its end.
pub fn read(input: impl Read) -> Result<Recording, RecordingError> {
    let mut input = BufReader::new(Unpacked::new(input)?);
    let mut start = Vec::new();
    (&mut input).take(128).read_until(b'\n', &mut start)?;
    // A protocol buffer has its first message where a text would have a blank line.
    let is_profile = start == b"\n" && !input.fill_buf()?.is_empty();
    let whole = start.chain(input);
    match &start[..] {
        [0x80, 1..=5, ..] => read_snapshot(whole),
        _ if is_profile => read_profile(whole),
        _ if start.starts_with(bfctrace::HEADER.as_bytes()) => Ok(Recording::of_bfc(&bfctrace::read(whole)?)),
        _ if start.starts_with(b"plimsoll trace ") => read_file(whole),
        _ if start.starts_with(b"trace ") => read_text(whole),
        _ => {
            let first = String::from_utf8_lossy(&start).trim().chars().take(60).collect();
            Err(RecordingError::Unknown { first })
        }
    }
}

/// A trace and what its file says beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// What happened.
    pub trace: Trace,
    /// How many allocations failed when it was recorded, or asked for nothing.
    pub failed: usize,
    /// Whether its end is missing: whoever wrote it was killed, or the file was cut.
    pub cut: bool,
    /// What else is in the file and left out, or not in it, in sentences.
    pub notes: Vec<String>,
    /// What it says of the allocator that was recorded.
    pub recorded: Recorded,
}

impl Recording {
    fn new(trace: Trace) -> Self {
        let recorded = Recorded::of(&trace);
        Self { trace, failed: 0, cut: false, notes: Vec::new(), recorded }
    }

    fn of_bfc(log: &BfcTrace) -> Self {
        let recorded = Recorded::of_bfc(log);
        let mut recording = Self { failed: log.failed, recorded, ..Self::new(log.to_trace()) };
        if log.inferred > 0 {
            recording.notes.push(format!(
                "the log begins in the middle: {} blocks are freed that it never saw taken; they stand at the start, each as long as the \
                 blocks above it leave room, at most as long as the largest of the log",
                log.inferred
            ));
        }
        recording
    }

    /// Everything that whoever looks at the trace should know.
    pub fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.failed > 0 {
            notes.push(format!(
                "{} allocations of the trace failed or asked for nothing; they are left out",
                self.failed
            ));
        }
        if self.cut {
            notes.push("the trace is cut: whoever wrote it was killed or still writes; what follows is what is there".to_string());
        }
        notes
    }
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum RecordingError {
    #[error("it cannot be read: {0}")]
    Broken(#[from] std::io::Error),
    #[error("it is no trace: its first line is `{first}`")]
    Unknown { first: String },
    #[error("it has more than {} MiB of text", LARGEST_TEXT >> 20)]
    TooLong,
    #[error("event {event}, counted from 0: {problem}")]
    Impossible { event: usize, problem: String },
    #[error("{0}")]
    Text(#[from] TextError),
    #[error("{0}")]
    File(#[from] FileError),
    #[error("{0}")]
    Bfc(#[from] BfcTraceError),
    #[error("{0}")]
    Profile(#[from] ProfileError),
    #[error("{0}")]
    Snapshot(#[from] SnapshotError),
}

fn read_snapshot(input: impl Read) -> Result<Recording, RecordingError> {
    let snapshot = snapshot::read(input)?;
    let device = snapshot.busiest_device();
    let mut recording = Recording::new(snapshot.to_trace(device));
    recording.recorded.blocks_before = snapshot.count_before(device);
    recording.recorded.start = snapshot.start(device);
    if !snapshot.has_history() {
        let note = "the snapshot has no history, only what was live at its end: that is recorded after torch.cuda.memory._record_memory_history()";
        recording.notes.push(note.to_string());
    }
    Ok(recording)
}

fn read_profile(input: impl Read) -> Result<Recording, RecordingError> {
    let profile = xplane::read(input)?;
    let mut recording = Recording { notes: profile.notes(), ..Recording::new(profile.to_trace()) };
    let others: Vec<&str> =
        profile.allocators.iter().skip(1).take(8).map(|(name, _)| name.as_str()).collect();
    if !others.is_empty() {
        let count = profile.allocators.len() - 1;
        recording
            .notes
            .push(format!("{count} other allocators of the profile are left out: {}", others.join(", ")));
    }
    Ok(recording)
}

fn read_file(input: impl Read) -> Result<Recording, RecordingError> {
    let (trace, cut) = file::read(input)?;
    match impossible(&trace) {
        Some((event, problem)) => Err(RecordingError::Impossible { event, problem }),
        None => Ok(Recording { cut, ..Recording::new(trace) }),
    }
}

fn read_text(input: impl Read) -> Result<Recording, RecordingError> {
    let mut text = String::new();
    input.take(LARGEST_TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_TEXT {
        return Err(RecordingError::TooLong);
    }
    let trace = text::parse(&text)?;
    match impossible(&trace) {
        Some((event, problem)) => Err(TextError { line: line_of(&text, event), problem }.into()),
        None => Ok(Recording::new(trace)),
    }
}

/// The first event that takes what is live or frees what is not.
fn impossible(trace: &Trace) -> Option<(usize, String)> {
    let mut live = HashSet::new();
    trace.events.iter().enumerate().find_map(|(event, what)| match what {
        Event::Take { block, .. } if !live.insert(*block) => {
            Some((event, format!("block {} is taken, which is live already", block.0)))
        }
        Event::Free { block, .. } if !live.remove(block) => {
            Some((event, format!("block {} is freed, which is not live", block.0)))
        }
        _ => None,
    })
}

/// The line of an event, counted from 1.
fn line_of(text: &str, event: usize) -> usize {
    let mut events = text.lines().enumerate().filter(|(_, line)| text::is_event(line));
    events.nth(event).map_or(0, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn kinds_are_told_apart_by_their_first_line() {
        let ours =
            read(&b"trace 1\nlabel \"a\" \"\" \"\" \"\"\n0 take 5 at 0 bytes 8 label 0\n1 free 5\n"[..])
                .unwrap();
        assert_eq!(ours.trace.events.len(), 2);
        let foreign = read(&b"# bfctrace v1\nA 1000 1 256 0 a b 1\nA 0 7 0 0 a b 1\n"[..]).unwrap();
        assert_eq!((foreign.trace.events.len(), foreign.failed), (1, 1));
        assert_eq!(message(b"{\"a\": 1}"), "it is no trace: its first line is `{\"a\": 1}`");
        assert_eq!(message(b""), "it is no trace: its first line is ``");
        assert_eq!(message(b"trace 2\n"), "line 1: the first line must be `trace 1`");
        assert!(message(b"trace 1\n\xff").starts_with("it cannot be read"));
        assert!(message(b"\x1f\x8b").starts_with("it cannot be read"));
    }

    #[test]
    fn impossible_events_name_their_line() {
        let head = "trace 1\n\nlabel \"a\" \"\" \"\" \"\"\n0 take 5 at 0 bytes 8 label 0\n\n";
        let twice = format!("{head}1 take 5 at 8 bytes 8 label 0\n");
        assert_eq!(message(twice.as_bytes()), "line 6: block 5 is taken, which is live already");
        let unknown = format!("{head}1 free 5\n1 free 5\n");
        assert_eq!(message(unknown.as_bytes()), "line 7: block 5 is freed, which is not live");
    }
}
