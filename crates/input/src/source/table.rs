//! Tables as text: CSV with commas, semicolons or tabs, a line of names first. (RFC 4180: fields may be quoted, and
//! then have separators, line breaks and doubled quotes in them.)
//!
//! The table is gone through once, to find out what its columns are and where its rows begin. Only some rows are
//! remembered, so that the index never takes more than [`INDEX`] entries; the others are counted from there.

mod scan;

use super::{Column, Content, Datum, Source};
use crate::room::Sizes;
use crate::{Account, Blob, InputError, Missing, Room, Settings, Stage, Taken};
use plimsoll_trace::Bytes;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most rows whose places are remembered.
pub const INDEX: usize = 1 << 18;

/// The longest row.
const LONGEST_ROW: usize = 16 << 20;

/// Rows with numbers and classes.
pub struct Table {
    blob: Blob,
    separator: u8,
    columns: Vec<Column>,
    /// For columns of classes, the number of each.
    classes: Vec<HashMap<String, usize>>,
    count: usize,
    /// Where every `stride`th row begins.
    index: Vec<u64>,
    stride: usize,
    missing: Missing,
    /// Tells the rows of one table from those of another in a room.
    number: usize,
    _taken: Taken,
}

static TABLES: AtomicUsize = AtomicUsize::new(0);

impl Table {
    /// Goes through a table.
    pub fn open(path: &Path, settings: &Settings, account: &Arc<Account>) -> Result<Self, InputError> {
        let blob = Blob::open(path, account)?;
        // The index, and the pieces in which the table is gone through.
        let mut taken = account.hold(&format!("the index of {}", path.display()), scan::most_bytes())?;
        let scanned = scan::scan(&blob, settings)?;
        let scan::Scanned { separator, columns, count, mut index, stride } = scanned;
        index.shrink_to_fit();
        let classes: Vec<HashMap<String, usize>> = columns.iter().map(numbered).collect();
        let texts: usize =
            classes.iter().flat_map(|classes| classes.keys()).map(|name| name.len() + 64).sum();
        taken.shrink(Bytes((8 * index.len() + 2 * texts) as u64));
        let number = TABLES.fetch_add(1, Ordering::Relaxed);
        let missing = settings.missing;
        Ok(Self { blob, separator, columns, classes, count, index, stride, missing, number, _taken: taken })
    }

    /// Reads a row into the room, unless it is there.
    fn row(&self, sample: usize, room: &mut Room) -> Result<(), InputError> {
        if room.kept == Some((self.number, sample)) {
            return Ok(());
        }
        room.kept = None;
        let mut skip = sample % self.stride;
        let mut offset = self.index[sample / self.stride];
        let mut size = 4096;
        loop {
            room.fit(Sizes { file: size as u64, ..Sizes::default() }, &|| self.place(sample))?;
            let length = room.timed(Stage::Read, |room| self.blob.read_some(offset, room.file(size)))?;
            let is_end = offset + length as u64 == self.blob.length();
            let piece = &room.file[..length];
            // Whole rows before the wanted one are passed, as many as this piece has.
            let mut at = 0;
            let mut row = None;
            while let Some(end) = scan::row_end(&piece[at..], is_end) {
                let found = at..at + end;
                at += end;
                if scan::is_blank(&piece[found.clone()]) {
                    continue;
                }
                if skip == 0 {
                    row = Some(found);
                    break;
                }
                skip -= 1;
            }
            if let Some(row) = row {
                room.file.copy_within(row.clone(), 0);
                let length = row.len();
                return room.timed(Stage::Decode, |room| self.cells(sample, length, room));
            }
            if is_end || size > LONGEST_ROW {
                return Err(InputError::sample(
                    self.place(sample),
                    "the table was cut off while it was read",
                ));
            }
            offset += at as u64;
            size = if at == 0 { size * 4 } else { size };
        }
    }

    /// Finds the fields of the row in the room.
    fn cells(&self, sample: usize, length: usize, room: &mut Room) -> Result<(), InputError> {
        let Room { file, cells, .. } = room;
        let found = scan::fields(&mut file[..length], self.separator, cells);
        found.map_err(|problem| InputError::sample(self.place(sample), problem))?;
        if room.cells.len() != self.columns.len() {
            let problem =
                format!("it has {} fields, the first line {}", room.cells.len(), self.columns.len());
            return Err(InputError::sample(self.place(sample), problem));
        }
        room.kept = Some((self.number, sample));
        Ok(())
    }

    /// What stands in a field.
    pub(super) fn text(&self, sample: usize, column: usize, room: &mut Room) -> Result<String, InputError> {
        self.row(sample, room)?;
        let (start, end) = room.cells[column];
        let text = String::from_utf8_lossy(&room.file[start as usize..end as usize]);
        Ok(text.trim().to_string())
    }

    fn value(&self, sample: usize, column: usize, text: &str) -> Result<Datum, InputError> {
        let failed = |problem: String| InputError::sample(self.place(sample), problem);
        let name = &self.columns[column].name;
        if scan::is_missing(text) {
            return match (self.missing, &self.columns[column].content) {
                (Missing::Is(value), Content::Numbers(_)) => Ok(Datum::Value(value)),
                _ => Err(failed(format!("`{name}` has no value"))),
            };
        }
        match &self.columns[column].content {
            Content::Class(_) => match self.classes[column].get(text) {
                Some(&class) => Ok(Datum::Class(class)),
                None => Err(failed(format!("`{name}` is `{text}`, which is no class"))),
            },
            _ => match text.parse() {
                Ok(value) => Ok(Datum::Value(value)),
                Err(_) => Err(failed(format!("`{name}` is `{text}`, which is no number"))),
            },
        }
    }
}

impl Source for Table {
    fn count(&self) -> usize {
        self.count
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        self.row(sample, room)?;
        let (start, end) = room.cells[column];
        let text = String::from_utf8_lossy(&room.file[start as usize..end as usize]);
        self.value(sample, column, text.trim())
    }

    fn place(&self, sample: usize) -> String {
        format!("{}, row {}", self.blob.path().display(), sample + 1)
    }
}

fn numbered(column: &Column) -> HashMap<String, usize> {
    match &column.content {
        Content::Class(names) => names.iter().cloned().zip(0..).collect(),
        _ => HashMap::new(),
    }
}
