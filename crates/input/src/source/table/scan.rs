//! Going through a table once: separator, names, what each column has, where rows begin.

use super::INDEX;
use crate::source::{Column, Content, Number, Numbers};
use crate::{Blob, FieldKind, InputError, Missing, OnBadSample, Settings};
use plimsoll_trace::Bytes;
use std::collections::BTreeSet;

/// How much is looked at in one go; a row is not longer.
const PIECE: usize = 4 << 20;

/// A text column with more different texts has no classes.
const MOST_CLASSES: usize = 4096;

/// The longest name of a class.
const LONGEST_CLASS: usize = 256;

/// Names of columns that say what is to be predicted.
const TARGETS: [&str; 5] = ["label", "target", "class", "y", "output"];

/// What a table turned out to be.
pub(super) struct Scanned {
    pub(super) separator: u8,
    pub(super) columns: Vec<Column>,
    pub(super) count: usize,
    pub(super) index: Vec<u64>,
    pub(super) stride: usize,
}

/// What going through a table takes.
pub(super) fn most_bytes() -> Bytes {
    Bytes((8 * INDEX + PIECE) as u64)
}

pub(super) fn scan(blob: &Blob, settings: &Settings) -> Result<Scanned, InputError> {
    let mut pieces = Pieces { blob, piece: vec![0; PIECE], offset: 0, length: 0, at: 0 };
    let failed = |problem: String| InputError::file(blob.path(), problem);
    let Some(head) = pieces.next_row()? else { return Err(failed("it is empty".to_string())) };
    let head = pieces.piece[head.1].to_vec();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).to_vec();
    let separator = separator(&head);
    let names = names(head, separator).map_err(failed)?;
    let mut looked: Vec<Looked> = names.iter().map(|_| Looked::default()).collect();
    let (mut index, mut stride, mut count) = (Vec::with_capacity(INDEX), 1, 0);
    let mut cells = Vec::new();
    while let Some((offset, row)) = pieces.next_row()? {
        if count % stride == 0 {
            if index.len() == INDEX {
                index = index.into_iter().step_by(2).collect();
                index.reserve_exact(INDEX - index.len());
                stride *= 2;
            }
            if count % stride == 0 {
                index.push(offset);
            }
        }
        count += 1;
        let fault =
            |problem: String| InputError::sample(format!("{}, row {count}", blob.path().display()), problem);
        let row = &mut pieces.piece[row];
        let problem = match fields(row, separator, &mut cells) {
            Ok(()) if cells.len() == names.len() => None,
            Ok(()) => Some(format!("it has {} fields, the first line {}", cells.len(), names.len())),
            Err(problem) => Some(problem),
        };
        match problem {
            Some(problem) if settings.on_bad_sample == OnBadSample::Stop => return Err(fault(problem)),
            Some(_) => {}
            None => looked.iter_mut().zip(&cells).for_each(|(looked, &(start, end))| {
                looked.look(count, &row[start as usize..end as usize]);
            }),
        }
    }
    if count == 0 {
        return Err(failed("it has a line of names and no rows".to_string()));
    }
    let columns = columns(blob, &names, looked, settings)?;
    Ok(Scanned { separator, columns, count, index, stride })
}

/// Gives columns their contents and roles; what cannot be used is refused with the column's name.
fn columns(
    blob: &Blob,
    names: &[String],
    looked: Vec<Looked>,
    settings: &Settings,
) -> Result<Vec<Column>, InputError> {
    let place = |wanted: &str| names.iter().position(|name| name == wanted);
    let known = |wanted: &String| {
        place(wanted).ok_or_else(|| {
            let hint = format!("its columns are {}", names.join(", "));
            InputError::file_with(blob.path(), format!("it has no column `{wanted}`"), hint)
        })
    };
    let target = match &settings.target {
        Some(target) => known(target)?,
        None => TARGETS
            .iter()
            .find_map(|target| names.iter().position(|name| name.eq_ignore_ascii_case(target)))
            .unwrap_or(names.len() - 1),
    };
    let inputs =
        settings.columns.as_ref().map(|columns| columns.iter().map(known).collect::<Result<Vec<_>, _>>());
    let inputs = inputs.transpose()?;
    let weight = settings.weight.as_ref().map(known).transpose()?;
    let all = names.iter().zip(looked).enumerate().map(|(position, (name, looked))| {
        let role = match position {
            _ if position == target => Some(FieldKind::Target),
            _ if weight == Some(position) => Some(FieldKind::SampleWeight),
            _ if inputs.as_ref().is_none_or(|inputs| inputs.contains(&position)) => Some(FieldKind::Input),
            _ => None,
        };
        let is_lenient = settings.missing != Missing::Refused || settings.on_bad_sample == OnBadSample::Skip;
        if let Some(row) = looked.first_missing.filter(|_| role.is_some() && !is_lenient) {
            let problem = format!("`{name}` has no value in {} rows, the first is row {row}", looked.missing);
            let hint = "say what stands for a missing value, or leave such rows out";
            return Err(InputError::file_with(blob.path(), problem, hint));
        }
        Ok(Column::new(name.clone(), role, looked.content()))
    });
    all.collect()
}

/// What was seen in a column.
#[derive(Default)]
struct Looked {
    missing: usize,
    first_missing: Option<usize>,
    texts: BTreeSet<String>,
    has_text: bool,
    has_many: bool,
    range: Option<(f64, f64)>,
    has_parts: bool,
}

impl Looked {
    fn look(&mut self, row: usize, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap_or("\u{fffd}").trim();
        if is_missing(text) {
            self.missing += 1;
            self.first_missing = self.first_missing.or(Some(row));
            return;
        }
        if !self.has_many {
            // It may turn out to be a column of texts.
            self.remember(text);
        }
        match text.parse::<f64>() {
            Ok(value) => {
                let (low, high) = self.range.unwrap_or((value, value));
                self.range = Some((low.min(value), high.max(value)));
                self.has_parts |= value.fract() != 0.0;
            }
            Err(_) => self.has_text = true,
        }
    }

    fn remember(&mut self, text: &str) {
        if text.len() > LONGEST_CLASS || self.texts.len() == MOST_CLASSES && !self.texts.contains(text) {
            self.has_many = true;
            self.texts.clear();
        }
        if !self.has_many && !self.texts.contains(text) {
            self.texts.insert(text.to_string());
        }
    }

    fn content(self) -> Content {
        if self.has_text && !self.has_many {
            return Content::Class(self.texts.into_iter().collect());
        }
        if self.has_text {
            return Content::Text;
        }
        let whole = Some(!self.has_parts);
        Content::Numbers(Numbers { element: Number::F64, shape: Vec::new(), range: self.range, whole })
    }
}

/// A table in pieces, row by row.
struct Pieces<'a> {
    blob: &'a Blob,
    piece: Vec<u8>,
    /// Where the piece begins, how much of it is filled, and how much of that was given out.
    offset: u64,
    length: usize,
    at: usize,
}

impl Pieces<'_> {
    /// Where the next row that is not blank begins in the file, and where it is in the piece.
    fn next_row(&mut self) -> Result<Option<(u64, std::ops::Range<usize>)>, InputError> {
        loop {
            let is_end = self.offset + self.length as u64 == self.blob.length();
            match row_end(&self.piece[self.at..self.length], is_end) {
                Some(end) => {
                    let row = self.at..self.at + end;
                    let offset = self.offset + self.at as u64;
                    self.at += end;
                    if !is_blank(&self.piece[row.clone()]) {
                        return Ok(Some((offset, row)));
                    }
                }
                None if is_end => return Ok(None),
                None => self.refill()?,
            }
        }
    }

    fn refill(&mut self) -> Result<(), InputError> {
        let rest = self.length - self.at;
        if rest == self.piece.len() {
            let problem = format!("a row has more than {PIECE} bytes; is a quote not closed?");
            return Err(InputError::file(self.blob.path(), problem));
        }
        self.offset += self.at as u64;
        self.piece.copy_within(self.at..self.length, 0);
        let next = self.offset + rest as u64;
        self.length = rest + self.blob.read_some(next, &mut self.piece[rest..])?;
        self.at = 0;
        Ok(())
    }
}

/// Where the first row ends, with its line break; nothing if the text ends before, unless it is the last.
pub(super) fn row_end(text: &[u8], is_end: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        match memchr::memchr2(b'\n', b'"', &text[at..]) {
            None => return (is_end && !text.is_empty()).then_some(text.len()),
            Some(found) if text[at + found] == b'\n' => return Some(at + found + 1),
            // A quoted piece: on behind its end. A doubled quote is two pieces in a row.
            Some(found) => match memchr::memchr(b'"', &text[at + found + 1..]) {
                Some(close) => at += found + close + 2,
                None => return is_end.then_some(text.len()),
            },
        }
    }
}

pub(super) fn is_blank(row: &[u8]) -> bool {
    row.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// What people write for a value that is not there.
pub(super) fn is_missing(text: &str) -> bool {
    matches!(text, "" | "NA" | "N/A" | "n/a" | "NaN" | "nan" | "NULL" | "null" | "None")
}

/// Finds where the fields of a row begin and end. Quotes are taken off in place.
pub(super) fn fields(row: &mut [u8], separator: u8, cells: &mut Vec<(u32, u32)>) -> Result<(), String> {
    cells.clear();
    let mut end = row.len();
    while end > 0 && matches!(row[end - 1], b'\r' | b'\n') {
        end -= 1;
    }
    let mut at = 0;
    loop {
        let (start, stop, next) = match row.get(at) == Some(&b'"') && at < end {
            true => quoted(row, at, end, separator)?,
            false => {
                let stop = memchr::memchr(separator, &row[at..end]).map_or(end, |found| at + found);
                (at, stop, stop)
            }
        };
        cells.push((start as u32, stop as u32));
        if next >= end {
            return Ok(());
        }
        at = next + 1;
    }
}

/// A quoted field: where its text is after quotes were taken off, and where its separator is.
fn quoted(row: &mut [u8], at: usize, end: usize, separator: u8) -> Result<(usize, usize, usize), String> {
    let (mut read, mut write) = (at + 1, at + 1);
    while read < end {
        match (row[read], row.get(read + 1).filter(|_| read + 1 < end)) {
            (b'"', Some(b'"')) => {
                row[write] = b'"';
                (read, write) = (read + 2, write + 1);
            }
            (b'"', None) => return Ok((at + 1, write, end)),
            (b'"', Some(next)) if *next == separator => return Ok((at + 1, write, read + 1)),
            (b'"', Some(_)) => return Err("text follows a closed quote".to_string()),
            (byte, _) => {
                row[write] = byte;
                (read, write) = (read + 1, write + 1);
            }
        }
    }
    Err("a quote is not closed".to_string())
}

/// The separator that the line of names has most of.
fn separator(head: &[u8]) -> u8 {
    let count = |separator: u8| memchr::memchr_iter(separator, head).count();
    [b',', b'\t', b';'].into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(b',')
}

fn names(mut head: Vec<u8>, separator: u8) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    fields(&mut head, separator, &mut cells)?;
    let text = |&(start, end): &(u32, u32)| {
        String::from_utf8(head[start as usize..end as usize].to_vec()).map(|name| name.trim().to_string())
    };
    let names: Vec<String> = cells
        .iter()
        .map(text)
        .collect::<Result<_, _>>()
        .map_err(|_| "its first line is no text".to_string())?;
    if let Some(number) = names.iter().find(|name| name.parse::<f64>().is_ok()) {
        return Err(format!("its first line has no names of columns: it has `{number}`"));
    }
    let twice = names.iter().enumerate().find(|(position, name)| names[..*position].contains(name));
    match twice {
        Some((_, name)) => Err(format!("two columns are called `{name}`")),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(row: &str) -> Result<Vec<String>, String> {
        let mut row = row.as_bytes().to_vec();
        let mut cells = Vec::new();
        fields(&mut row, b',', &mut cells)?;
        let text = |&(start, end): &(u32, u32)| {
            String::from_utf8(row[start as usize..end as usize].to_vec()).unwrap()
        };
        Ok(cells.iter().map(text).collect())
    }

    #[test]
    fn rows_are_cut_as_the_standard_has_it() {
        assert_eq!(cut("1,2,3\r\n").unwrap(), ["1", "2", "3"]);
        assert_eq!(cut("a,,\n").unwrap(), ["a", "", ""]);
        assert_eq!(cut("\"a,b\",\"say \"\"hi\"\"\",\"x\ny\"\n").unwrap(), ["a,b", "say \"hi\"", "x\ny"]);
        assert_eq!(cut("\"\",1").unwrap(), ["", "1"]);
        assert!(cut("\"a\"b,1\n").is_err() && cut("\"a\n").is_err());
    }

    #[test]
    fn rows_end_at_line_breaks_outside_of_quotes() {
        assert_eq!(row_end(b"a,b\nc", false), Some(4));
        assert_eq!(row_end(b"\"a\nb\",\"c\"\"\n\"\nx", false), Some(13));
        assert_eq!(
            (row_end(b"abc", false), row_end(b"abc", true), row_end(b"", true)),
            (None, Some(3), None)
        );
        assert_eq!(row_end(b"\"abc\n", false), None);
    }

    #[test]
    fn separators_and_names_are_found() {
        assert_eq!((separator(b"a,b;c,d"), separator(b"a\tb"), separator(b"a")), (b',', b'\t', b','));
        assert!(names(b"1.5,2".to_vec(), b',').unwrap_err().contains("no names"));
        assert!(names(b"a,b,a".to_vec(), b',').unwrap_err().contains("two columns"));
    }
}
