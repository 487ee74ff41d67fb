//! This program's own evidence: one line of JSON, wherever in a log.

use super::dump::{Dump, LoggedHolder, RefusedBy, Source};
use super::figure::Figure;
use plimsoll_trace::Bytes;
use plimsoll_trace::evidence::{self, Evidence, EvidenceError};

/// What one piece of evidence may have; a list of all holders has some hundred bytes each.
const LONGEST: usize = 16 << 20;

/// Evidence as a report.
pub(crate) fn dump_of(evidence: Evidence, line: u64) -> Dump {
    let held = Figure::exact(evidence.held().0);
    let mut dump = Dump {
        source: Source::Plimsoll,
        line,
        repeated: 1,
        allocator: evidence.device,
        op: Some(evidence.asked_by.words()).filter(|who| !who.is_empty()),
        request: figure(evidence.requested),
        limit: figure(evidence.limit),
        holders: evidence.holders.into_iter().map(holder).collect(),
        ..Dump::default()
    };
    match evidence.refused_by {
        evidence::RefusedBy::Allocator { name, reserved, in_use, largest_free } => {
            dump.allocator = Some(name);
            dump.pool = figure(reserved);
            dump.in_use = figure(in_use);
            dump.free = figure(reserved.saturating_sub(in_use));
            // What could be had as a new region is not inside the pool.
            dump.largest_free = figure(largest_free.min(reserved.saturating_sub(in_use)));
            dump.missing.push("the blocks one by one".to_string());
        }
        evidence::RefusedBy::Device { system } => {
            (dump.pool, dump.in_use, dump.free) = (Some(held), Some(held), figure(Bytes::ZERO));
            dump.refused_by = system.map_or(RefusedBy::Pool, RefusedBy::System);
        }
        evidence::RefusedBy::Budget { floor, least } => {
            let (floor, least) = (Figure::exact(floor.0), Figure::exact(least.0));
            dump.refused_by = RefusedBy::Budget { floor, least };
        }
    }
    dump
}

fn figure(bytes: Bytes) -> Option<Figure> {
    Some(Figure::exact(bytes.0))
}

fn holder(evidence::Holder { label, bytes }: evidence::Holder) -> LoggedHolder {
    let (value, role) = (label.shown(), label.role);
    let who = if role.is_empty() { value } else { format!("{value} ({role})") };
    LoggedHolder { who, bytes: Figure::exact(bytes.0) }
}

/// Evidence that is being read, piece by piece of a long line.
pub(crate) struct Open {
    /// The line it stands in.
    pub(crate) line: u64,
    text: Vec<u8>,
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Open {
    pub(crate) fn new(line: u64) -> Self {
        Self { line, text: Vec::new(), depth: 0, in_string: false, escaped: false }
    }

    /// Takes what belongs to the evidence; says how many bytes that is.
    pub(crate) fn push(&mut self, piece: &[u8]) -> usize {
        let end = piece.iter().position(|&byte| self.ends_with(byte)).map_or(piece.len(), |at| at + 1);
        let room = LONGEST.saturating_sub(self.text.len());
        self.text.extend_from_slice(&piece[..end.min(room)]);
        end
    }

    /// Whether its last brace is there.
    pub(crate) fn is_whole(&self) -> bool {
        self.depth == 0
    }

    pub(crate) fn finish(self) -> Result<Dump, EvidenceError> {
        Evidence::parse(&self.text).map(|evidence| dump_of(evidence, self.line))
    }

    /// Counts braces outside of strings.
    fn ends_with(&mut self, byte: u8) -> bool {
        match (self.in_string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (_, b'"') => self.in_string = !self.in_string,
            (false, b'{') => self.depth += 1,
            (false, b'}') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0
    }
}
