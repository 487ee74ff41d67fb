//! TFRecord files of `tf.train.Example`: records with a length and checksums, each a small dictionary of lists.
//!
//! Records have no numbers by nature. Their headers are gone through once, and the places of some are remembered, so
//! that the index never takes more than [`INDEX`] entries.

mod crc32c;
mod example;

use super::{Column, Content, Datum, Images, Number, Numbers, Source};
use crate::image::probe;
use crate::room::Sizes;
use crate::{Account, Blob, FieldKind, InputError, Room, Stage, Taken};
use example::List;
use plimsoll_trace::Bytes;
use std::path::Path;
use std::sync::Arc;

/// The most records whose places are remembered.
pub const INDEX: usize = 1 << 18;

/// The largest record.
const LARGEST: u64 = 1 << 30;

/// Records of one or several files.
pub struct Records {
    files: Vec<Blob>,
    columns: Vec<Column>,
    count: usize,
    /// File and offset of every `stride`th record.
    index: Vec<(u32, u64)>,
    stride: usize,
    /// How many bytes the longest list of numbers takes.
    unpacked: u64,
    _taken: Taken,
}

impl Records {
    /// Goes through the headers of all records, and looks at the first.
    pub fn open(paths: &[&Path], account: &Arc<Account>) -> Result<Self, InputError> {
        let taken = account.hold("the index of records", Bytes(16 * INDEX as u64))?;
        let files = paths.iter().map(|path| Blob::open(path, account)).collect::<Result<Vec<_>, _>>()?;
        let (mut index, mut stride, mut count) = (Vec::with_capacity(INDEX), 1, 0);
        let mut largest = 0;
        for (number, file) in files.iter().enumerate() {
            let mut offset = 0;
            while offset < file.length() {
                if count % stride == 0 && index.len() == INDEX {
                    index = index.into_iter().step_by(2).collect();
                    index.reserve_exact(INDEX - index.len());
                    stride *= 2;
                }
                if count % stride == 0 {
                    index.push((number as u32, offset));
                }
                let length = length(file, offset, count)?;
                largest = length.max(largest);
                offset += length + 16;
                count += 1;
            }
        }
        let Some(path) = paths.first().filter(|_| count > 0) else {
            let path = paths.first().copied().unwrap_or(Path::new("."));
            return Err(InputError::file(path, "it has no records"));
        };
        let mut records =
            Self { files, columns: Vec::new(), count, index, stride, unpacked: 0, _taken: taken };
        let mut room = Room::new(account);
        let size = records.record(0, &mut room)?;
        let found =
            example::features(&room.file[..size]).map_err(|problem| InputError::file(path, problem))?;
        records.columns = found.iter().map(|(name, list)| column(name, list, largest)).collect();
        records.unpacked = records.columns.iter().map(unpacked).max().unwrap_or(0);
        Ok(records)
    }

    /// Reads a record into the room; gives its size.
    fn record(&self, sample: usize, room: &mut Room) -> Result<usize, InputError> {
        let (mut file, mut offset) = self.index[sample / self.stride];
        for _ in 0..sample % self.stride {
            offset += length(&self.files[file as usize], offset, sample)? + 16;
            if offset >= self.files[file as usize].length() {
                (file, offset) = (file + 1, 0);
            }
        }
        let blob = &self.files[file as usize];
        let size = length(blob, offset, sample)?;
        room.kept = None;
        // Integers are packed in the record, and unpacked twice: into a list, and into the buffer.
        let file = (size + 4).max(self.unpacked);
        room.fit(Sizes { file, inner: self.unpacked, ..Sizes::default() }, &|| self.place(sample))?;
        room.file(file as usize);
        let size = size as usize;
        room.timed(Stage::Read, |room| blob.read(offset + 12, room.file(size + 4)))?;
        let (data, sum) = room.file[..size + 4].split_at(size);
        match crc32c::masked(data) == u32::from_le_bytes(sum.try_into().expect("four bytes")) {
            true => Ok(size),
            false => {
                Err(InputError::sample(self.place(sample), "the record is damaged: its checksum is another"))
            }
        }
    }
}

impl Source for Records {
    fn count(&self) -> usize {
        self.count
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        let size = self.record(sample, room)?;
        let column = &self.columns[column];
        room.timed(Stage::Decode, |room| {
            let found = example::find(&mut room.file, size, &column.name);
            let failed = |problem: String| InputError::sample(self.place(sample), problem);
            let found = found.map_err(failed)?;
            let (name, wanted) = (&column.name, &column.content);
            match (found, wanted) {
                (Some(List::Bytes(length)), Content::Images(_)) => Ok(Datum::Image(length)),
                (Some(List::Floats(count)), Content::Numbers(numbers))
                    if numbers.element == Number::F32 && count == numbers.elements() =>
                {
                    Ok(Datum::Numbers(4 * count))
                }
                (Some(List::Integers(count)), Content::Numbers(numbers))
                    if numbers.element == Number::I64 && count == numbers.elements() =>
                {
                    Ok(Datum::Numbers(8 * count))
                }
                (None, _) => Err(failed(format!("the record has no `{name}`"))),
                (Some(other), _) => {
                    Err(failed(format!("`{name}` has {other}, which the first record has not")))
                }
            }
        })
    }

    fn place(&self, sample: usize) -> String {
        let (file, _) = self.index[sample / self.stride];
        format!("{}, record {sample}", self.files[file as usize].path().display())
    }
}

/// The length of the record at an offset; its checksum is looked at.
fn length(file: &Blob, offset: u64, number: usize) -> Result<u64, InputError> {
    let failed = |problem: &str| InputError::file(file.path(), format!("record {number}: {problem}"));
    let mut head = [0; 12];
    file.read(offset, &mut head).map_err(|_| failed("the file is cut off"))?;
    let length = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
    let sum = u32::from_le_bytes(head[8..].try_into().expect("four bytes"));
    match () {
        () if crc32c::masked(&head[..8]) != sum => Err(failed("it is no TFRecord, or it is damaged")),
        () if length > LARGEST => Err(failed("it is larger than any record can be")),
        () if offset + 16 + length > file.length() => Err(failed("the file is cut off")),
        () => Ok(length),
    }
}

fn unpacked(column: &Column) -> u64 {
    match &column.content {
        Content::Numbers(numbers) => (numbers.elements() * numbers.element.bytes()) as u64,
        Content::Images(_) | Content::Class(_) | Content::Text | Content::Tokens(_) => 0,
    }
}

/// What a column seems to be, by the first record.
fn column(name: &str, list: &example::Found<'_>, largest: u64) -> Column {
    let numbers = |element, count: usize| {
        let shape = if count == 1 { Vec::new() } else { vec![count] };
        Content::Numbers(Numbers::new(element, shape))
    };
    let content = match list {
        example::Found::Floats(count) => numbers(Number::F32, *count),
        example::Found::Integers(count) => numbers(Number::I64, *count),
        example::Found::Bytes(bytes) => match probe(&|offset, into| copy(bytes, offset, into)) {
            Ok(header) => {
                let mut images = Images::new();
                images.add(header, largest);
                Content::Images(images)
            }
            Err(_) => Content::Text,
        },
        example::Found::Nothing => Content::Text,
    };
    let last = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let role = match (last.as_str(), &content) {
        (_, Content::Text) => None,
        ("label" | "target" | "class" | "y" | "labels" | "targets", _) => Some(FieldKind::Target),
        _ => Some(FieldKind::Input),
    };
    Column::new(name, role, content)
}

/// Copies bytes at an offset, or says that there are too few.
pub(crate) fn copy(bytes: &[u8], offset: u64, into: &mut [u8]) -> Result<(), String> {
    let start = usize::try_from(offset).ok();
    let from = start.and_then(|start| bytes.get(start..start.checked_add(into.len())?));
    into.copy_from_slice(from.ok_or("it is cut off")?);
    Ok(())
}
