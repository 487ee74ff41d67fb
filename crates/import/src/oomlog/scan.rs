//! The marks of out-of-memory reports in a stream of lines, whatever stands before and between them.
//!
//! A line is read at a time, in memory that does not grow; a line feed, a carriage return (progress bars) and nothing
//! else ends one. A line of more than [`LONGEST`] is cut at a space. A mark is a few words that only such reports
//! contain; it counts at the beginning of a word, wherever in the line, so that prefixes of loggers, containers and
//! quotations do not matter.

use super::plain;
use memchr::memchr2;
use std::io::{ErrorKind, Read};

/// What is looked at in one piece.
pub(crate) const LONGEST: usize = 64 << 10;

/// Pieces of text, one line or a part of one.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    at_line_feed: bool,
    broken: Option<std::io::Error>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        let buffer = vec![0; 4 * LONGEST];
        Self { input, buffer, start: 0, end: 0, number: 1, at_line_feed: false, broken: None }
    }

    /// Why the input ended early, if it did.
    pub(crate) fn broken(self) -> Option<std::io::Error> {
        self.broken
    }

    /// The next line without its end, and its number, counted from 1.
    pub(crate) fn next(&mut self) -> Option<(u64, &[u8])> {
        let mut searched = 0;
        loop {
            let window = &self.buffer[self.start..self.end];
            if let Some(found) = memchr2(b'\n', b'\r', &window[searched..]) {
                return Some(self.give(searched + found, 1));
            }
            if window.len() >= LONGEST {
                let space = window[..LONGEST].iter().rposition(u8::is_ascii_whitespace);
                return Some(self.give(space.filter(|&at| at > 0).unwrap_or(LONGEST), 0));
            }
            searched = window.len();
            if !self.fill() {
                let rest = self.end - self.start;
                return (rest > 0).then(|| self.give(rest, 0));
            }
        }
    }

    fn give(&mut self, length: usize, ending: usize) -> (u64, &[u8]) {
        let start = self.start;
        self.start += length + ending;
        // Editors count line feeds only.
        self.number += u64::from(self.at_line_feed);
        self.at_line_feed = ending > 0 && self.buffer[start + length] == b'\n';
        let line = &mut self.buffer[start..start + length];
        let kept = plain::strip(line);
        (self.number, &line[..kept])
    }

    /// Reads more; false at the end. What breaks off is an end, too, and remembered.
    fn fill(&mut self) -> bool {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return count > 0;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.broken = Some(error);
                    return false;
                }
            }
        }
    }
}

/// Finds marks. A line feed that is only spelled, as in JSON, begins a word, too.
pub(crate) struct Marks<M: 'static> {
    by_first: Vec<&'static [(&'static str, M)]>,
    classes: [u8; 256],
}

/// A byte that a word is made of.
const WORD: u8 = 1;
/// A byte that a mark begins with.
const FIRST: u8 = 2;

impl<M: Copy> Marks<M> {
    /// Marks in the order of their first bytes.
    pub(crate) fn new(table: &'static [(&'static str, M)]) -> Self {
        let first = |mark: &(&str, M)| usize::from(mark.0.as_bytes()[0]);
        let mut by_first: Vec<&'static [(&'static str, M)]> = vec![&[]; 256];
        let mut classes: [u8; 256] =
            std::array::from_fn(|byte| if (byte as u8).is_ascii_alphanumeric() { WORD } else { 0 });
        for group in table.chunk_by(|left, right| first(left) == first(right)) {
            by_first[first(&group[0])] = group;
            classes[first(&group[0])] |= FIRST;
        }
        Self { by_first, classes }
    }

    /// The first mark from a place on: what it is, where it begins and where it ends.
    pub(crate) fn find(&self, line: &[u8], from: usize) -> Option<(M, usize, usize)> {
        let mut before = if from > 0 { self.classes[usize::from(line[from - 1])] } else { 0 };
        for (at, &byte) in line.iter().enumerate().skip(from) {
            let class = self.classes[usize::from(byte)];
            // Only what begins a word.
            if class & FIRST != 0 && (before & WORD == 0 || is_spelled(&line[..at])) {
                let rest = &line[at..];
                let mut group = self.by_first[usize::from(byte)].iter();
                if let Some((text, mark)) = group.find(|(text, _)| rest.starts_with(text.as_bytes())) {
                    return Some((*mark, at, at + text.len()));
                }
            }
            before = class;
        }
        None
    }
}

/// Whether some text ends with `\n`, `\r` or `\t`, spelled with a backslash.
fn is_spelled(text: &[u8]) -> bool {
    matches!(text, [.., b'\\', b'n' | b'r' | b't'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u64, String)> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next() {
            found.push((number, String::from_utf8_lossy(line).into_owned()));
        }
        found
    }

    #[test]
    fn lines_end_in_every_way() {
        let found = lines(b"a\nb\r\nprogress 1\rprogress 2\nlast");
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "", "progress 1", "progress 2", "last"]);
        assert_eq!(found.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn long_lines_are_cut_at_a_space() {
        let text = "word ".repeat(LONGEST);
        let found = lines(text.as_bytes());
        assert!(found.len() > 4);
        assert!(found.iter().all(|(_, piece)| piece.len() <= LONGEST && !piece.trim().ends_with("wor")));
        assert_eq!(lines(&vec![b'x'; 3 * LONGEST + 1]).len(), 4);
    }

    #[test]
    fn marks_begin_a_word() {
        static TABLE: [(&str, u8); 3] = [("Bin (", 1), ("InUse at", 2), ("InUse:", 3)];
        let marks = Marks::new(&TABLE);
        assert_eq!(marks.find(b"x] InUse at 7", 0), Some((2, 3, 11)));
        assert_eq!(marks.find(b"MaxInUse: 7", 0), None);
        assert_eq!(marks.find(b"InUse: 7 Bin (5)", 1), Some((1, 9, 14)));
        assert_eq!(marks.find(b"", 0), None);
        assert_eq!(marks.find(br"a\nInUse at 7", 0), Some((2, 3, 11)));
        assert_eq!(marks.find(br"a\xInUse at 7", 0), None);
    }
}
