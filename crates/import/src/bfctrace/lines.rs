//! The lines of a bfctrace: from bytes to words, one at a time.

use super::{BfcTraceError, HEADER, Problem};
use crate::gzip::Unpacked;
use std::io::{BufRead, BufReader, Read};

/// No line of a sound trace is longer, so a longer one is not read to its end.
pub(super) const LONGEST: u64 = 64 << 10;

/// A line in words.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Blank, a comment or a wait.
    Nothing,
    Region {
        base: u64,
        bytes: u64,
    },
    Take {
        address: u64,
        requested: u64,
        chunk: u64,
        op: &'a str,
        kind: &'a str,
        before: bool,
    },
    Free {
        address: u64,
    },
    Mark(&'a str),
}

/// Lines read one after another.
pub(super) struct Lines<R: Read> {
    input: BufReader<Unpacked<R>>,
    text: Vec<u8>,
    line: u64,
}

impl<R: Read> Lines<R> {
    /// Looks at the first bytes and the header.
    pub(super) fn new(input: R) -> Result<Self, BfcTraceError> {
        let broken = |error| BfcTraceError { line: 1, problem: Problem::Broken(error) };
        let input = Unpacked::new(input).map_err(broken)?;
        let mut lines = Self { input: BufReader::with_capacity(64 << 10, input), text: Vec::new(), line: 0 };
        let found = lines.fill().map_err(|problem| lines.error(problem))?;
        match found && lines.text.starts_with(HEADER.as_bytes()) {
            true => Ok(lines),
            false => Err(BfcTraceError { line: 1, problem: Problem::Header }),
        }
    }

    /// The next line, or none after the last.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, BfcTraceError> {
        let found = self.fill().map_err(|problem| self.error(problem))?;
        let line = self.line;
        match found {
            false => Ok(None),
            true => parse(&self.text).map(Some).map_err(|problem| BfcTraceError { line, problem }),
        }
    }

    /// A problem with the line that was read last.
    pub(super) fn error(&self, problem: Problem) -> BfcTraceError {
        BfcTraceError { line: self.line, problem }
    }

    fn fill(&mut self) -> Result<bool, Problem> {
        self.text.clear();
        self.line += 1;
        let length =
            (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.text).map_err(Problem::Broken)?;
        match length as u64 == LONGEST && self.text.last() != Some(&b'\n') {
            true => Err(Problem::TooLong),
            false => Ok(length > 0),
        }
    }
}

fn parse(line: &[u8]) -> Result<Line<'_>, Problem> {
    let text = std::str::from_utf8(line).map_err(|_| Problem::NotText)?.trim();
    let wrong = |wanted| Problem::NoEvent { text: text.chars().take(80).collect(), wanted };
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words = || rest.split_ascii_whitespace();
    match kind {
        "" | "W" => Ok(Line::Nothing),
        _ if kind.starts_with('#') => Ok(Line::Nothing),
        "M" => Ok(Line::Mark(rest)),
        "R" => region(words()).ok_or_else(|| wrong("a region is `R address bytes alignment`")),
        "F" => free(words()).ok_or_else(|| wrong("a free is `F address thread`")),
        "A" | "P" => take(words(), kind == "P")
            .ok_or_else(|| wrong("a block is `A address requested chunk thread op type element`")),
        _ => Err(wrong("lines begin with A, F, R, M, P, W or #")),
    }
}

fn region<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Line<'a>> {
    let (base, bytes) = (address(words.next()?)?, words.next()?.parse().ok()?);
    let _alignment: u64 = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Line::Region { base, bytes })
}

fn free<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Line<'a>> {
    let address = address(words.next()?)?;
    let _thread: u64 = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Line::Free { address })
}

fn take<'a>(mut words: impl Iterator<Item = &'a str>, before: bool) -> Option<Line<'a>> {
    let address = address(words.next()?)?;
    let (requested, chunk) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let _thread: u64 = words.next()?.parse().ok()?;
    let (op, kind) = (words.next()?, words.next()?);
    let _element: i64 = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Line::Take { address, requested, chunk, op, kind, before })
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word, 16).ok()
}
