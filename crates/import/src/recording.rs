//! Traces of any kind we know, told apart by their first line: our own text form, and TensorFlow's allocator. Gzip or not.

use crate::bfctrace::{self, BfcTraceError};
use crate::gzip::Unpacked;
use plimsoll_trace::text::{self, TextError};
use plimsoll_trace::{Event, Trace};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};

/// Reads a trace to its end.
pub fn read(input: impl Read) -> Result<Recording, RecordingError> {
    let mut input = BufReader::new(Unpacked::new(input)?);
    let mut start = Vec::new();
    (&mut input).take(128).read_until(b'\n', &mut start)?;
    let whole = start.chain(input);
    if start.starts_with(bfctrace::HEADER.as_bytes()) {
        let trace = bfctrace::read(whole)?;
        return Ok(Recording { trace: trace.to_trace(), failed: trace.failed });
    }
    if !start.starts_with(b"trace ") {
        let first = String::from_utf8_lossy(&start).trim().chars().take(60).collect();
        return Err(RecordingError::Unknown { first });
    }
    read_ours(whole)
}

/// A trace and what its file says beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// What happened.
    pub trace: Trace,
    /// How many allocations failed when it was recorded, or asked for nothing.
    pub failed: usize,
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum RecordingError {
    #[error("it cannot be read: {0}")]
    Broken(#[from] std::io::Error),
    #[error("it is no trace: its first line is `{first}`")]
    Unknown { first: String },
    #[error("{0}")]
    Text(#[from] TextError),
    #[error("{0}")]
    Bfc(#[from] BfcTraceError),
}

fn read_ours(mut input: impl Read) -> Result<Recording, RecordingError> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let trace = text::parse(&text)?;
    match impossible(&trace) {
        Some((event, problem)) => Err(TextError { line: line_of(&text, event), problem }.into()),
        None => Ok(Recording { trace, failed: 0 }),
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
