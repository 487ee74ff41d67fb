//! Weights in HDF5, read in pieces.
//!
//! Nothing is allocated by what a file declares: the caller knows the shape it wants, and a file that has another is
//! refused.

use super::KerasError;
use super::float::Float;
use hdf5_reader::storage::DynStorage;
use hdf5_reader::{Dataset, Datatype, Hdf5File, OpenOptions};
use hdf5_reader::{SliceInfo, SliceInfoElem, Storage, StorageBuffer};
use plimsoll_state::CHUNK;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How much larger than its file a packed dataset can be: what deflate can do at best.
const LARGEST_RATIO: u64 = 1032;

/// A layer has few groups.
const MOST_GROUPS: usize = 1000;

/// An open HDF5 file.
pub(super) struct Store {
    file: Hdf5File,
    storage: DynStorage,
    length: u64,
    /// The CRC-32 that an archive has of it.
    checksum: Option<u32>,
    /// Whether it was found to be right.
    sound: OnceLock<bool>,
}

/// A part of a storage, as if it were a file of its own.
pub(super) struct Region {
    pub(super) whole: DynStorage,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Storage for Region {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_range(&self, offset: u64, len: usize) -> hdf5_reader::error::Result<StorageBuffer> {
        let inside = offset.checked_add(len as u64).is_some_and(|end| end <= self.length);
        match inside {
            true => self.whole.read_range(self.offset + offset, len),
            false => Err(hdf5_reader::error::Error::OffsetOutOfBounds(offset)),
        }
    }
}

impl Store {
    pub(super) fn open(storage: DynStorage) -> Result<Self, KerasError> {
        let length = storage.len();
        // What attributes and names may take; weights go to the caller's memory.
        let options = OpenOptions {
            chunk_cache_bytes: 16 << 20,
            max_read_bytes: 64 << 20,
            max_chunk_bytes: 64 << 20,
            max_object_header_bytes: 8 << 20,
            ..OpenOptions::default()
        };
        let file = Hdf5File::from_storage_with_options(storage.clone(), options);
        let file = file.map_err(|error| KerasError::weights("/", error))?;
        let superblock = file.superblock();
        match superblock.eof_address.saturating_add(superblock.base_address) > length {
            true => Err(KerasError::weights("/", "the file is shorter than it says")),
            false => Ok(Self { file, storage, length, checksum: None, sound: OnceLock::new() }),
        }
    }

    /// Opens a file that lies in another, whose CRC-32 is checked when weights are first read.
    pub(super) fn open_region(region: Region, checksum: u32) -> Result<Self, KerasError> {
        Ok(Self { checksum: Some(checksum), ..Self::open(Arc::new(region))? })
    }

    /// Reads elements of a dataset of a known shape, from the one of that number on.
    pub(super) fn read(
        &self,
        path: &str,
        shape: &[usize],
        start: usize,
        into: &mut [f32],
    ) -> Result<(), KerasError> {
        self.check_sum()?;
        let dataset = self.dataset(path, shape)?;
        match dataset.dtype() {
            Datatype::FloatingPoint { size: 2 | 4 | 8, .. } | Datatype::Opaque { size: 2, .. } => {}
            other => {
                return Err(KerasError::weights(path, format!("they are of type {other:?}, not floats")));
            }
        }
        let failed = |error| KerasError::weights(path, error);
        read_elements(&dataset, &mut Vec::new(), shape, start, into).map_err(failed)
    }

    /// A single integer.
    pub(super) fn integer(&self, path: &str) -> Option<i32> {
        let mut one = [0i64];
        let dataset = self.file.dataset(path).ok().filter(|dataset| dataset.shape().is_empty())?;
        match dataset.read_into(&mut one) {
            Ok(()) => i32::try_from(one[0]).ok(),
            Err(_) => None,
        }
    }

    /// Whether there is such a dataset.
    pub(super) fn has(&self, path: &str) -> bool {
        self.file.dataset(path).is_ok()
    }

    /// How many numbers stand under a group, at any depth.
    pub(super) fn elements(&self, group: &str) -> u64 {
        let mut left = vec![self.file.group(group).ok()];
        let mut sum = 0u64;
        // Groups that contain themselves would go on forever.
        for _ in 0..MOST_GROUPS {
            let Some(group) = left.pop() else { break };
            let Some((groups, datasets)) = group.and_then(|group| group.members().ok()) else { continue };
            let sizes = datasets.iter().map(|dataset| dataset.shape().iter().product::<u64>());
            sum = sizes.fold(sum, u64::saturating_add);
            left.extend(groups.into_iter().map(Some));
        }
        sum
    }

    /// An attribute that is a text.
    pub(super) fn text(&self, group: &str, name: &str) -> Option<String> {
        self.file.group(group).ok()?.attribute(name).ok()?.read_string().ok()
    }

    /// An attribute that is a list of texts; long ones are written in parts, `name0`, `name1` and so on.
    pub(super) fn texts(&self, group: &str, name: &str) -> Result<Vec<String>, KerasError> {
        let failed = |error: hdf5_reader::error::Error| KerasError::weights(group, error);
        let group = self.file.group(group).map_err(failed)?;
        if let Ok(whole) = group.attribute(name) {
            // A list without elements has no type of texts.
            return if whole.num_elements().unwrap_or(0) == 0 {
                Ok(Vec::new())
            } else {
                whole.read_strings().map_err(failed)
            };
        }
        let mut all = Vec::new();
        for part in 0.. {
            let Ok(attribute) = group.attribute(&format!("{name}{part}")) else { break };
            all.extend(attribute.read_strings().map_err(failed)?);
        }
        Ok(all)
    }

    /// Whether all bytes are those that the archive says it has.
    pub(super) fn check_sum(&self) -> Result<(), KerasError> {
        let Some(wanted) = self.checksum else { return Ok(()) };
        let sound = match self.sound.get() {
            Some(&sound) => sound,
            None => *self.sound.get_or_init(|| crc(&self.storage).is_some_and(|found| found == wanted)),
        };
        match sound {
            true => Ok(()),
            false => {
                Err(KerasError::Archive("model.weights.h5 is damaged: its CRC-32 is another".to_string()))
            }
        }
    }

    fn dataset(&self, path: &str, shape: &[usize]) -> Result<Dataset, KerasError> {
        let missing = |error| KerasError::weights(path, format!("they are not in the file: {error}"));
        let dataset = self.file.dataset(path).map_err(missing)?;
        let found = dataset.shape();
        if found.len() != shape.len() || found.iter().zip(shape).any(|(&a, &b)| a != b as u64) {
            let problem = format!("the file has {found:?}, the model {shape:?}");
            return Err(KerasError::weights(path, problem));
        }
        let bytes = dataset.raw_byte_len().map_err(|error| KerasError::weights(path, error))?;
        match bytes as u64 > self.length.saturating_mul(LARGEST_RATIO) {
            true => Err(KerasError::weights(path, "the file is too small to hold them")),
            false => Ok(dataset),
        }
    }
}

/// The CRC-32 of everything, if it can be read.
fn crc(storage: &DynStorage) -> Option<u32> {
    let (mut crc, length) = (flate2::Crc::new(), storage.len());
    for offset in (0..length).step_by(CHUNK) {
        crc.update(&storage.read_range(offset, (length - offset).min(CHUNK as u64) as usize).ok()?);
    }
    Some(crc.sum())
}

/// Reads elements in row-major order: whole rows at once, parts of rows axis by axis. `fixed` are the rows chosen on
/// the axes before.
fn read_elements(
    dataset: &Dataset,
    fixed: &mut Vec<u64>,
    shape: &[usize],
    mut start: usize,
    mut into: &mut [f32],
) -> hdf5_reader::error::Result<()> {
    let Some((_, inner)) = shape.split_first() else { return read_rows(dataset, fixed, 0..1, into) };
    let row = inner.iter().product::<usize>();
    while !into.is_empty() {
        let (first, within) = (start / row, start % row);
        let part = match into.len() / row {
            rows if within == 0 && rows > 0 => {
                read_rows(dataset, fixed, first as u64..(first + rows) as u64, &mut into[..rows * row])?;
                rows * row
            }
            _ => {
                let part = (row - within).min(into.len());
                fixed.push(first as u64);
                read_elements(dataset, fixed, inner, within, &mut into[..part])?;
                fixed.pop();
                part
            }
        };
        start += part;
        into = &mut into[part..];
    }
    Ok(())
}

/// Reads whole rows of the axis after those that are fixed.
fn read_rows(
    dataset: &Dataset,
    fixed: &[u64],
    rows: Range<u64>,
    into: &mut [f32],
) -> hdf5_reader::error::Result<()> {
    if dataset.ndim() == 0 {
        return copy(dataset.read_array::<Float>()?.iter(), into);
    }
    let slice = |range: Range<u64>| SliceInfoElem::Slice { start: range.start, end: range.end, step: 1 };
    let mut selections: Vec<SliceInfoElem> = fixed.iter().map(|&row| slice(row..row + 1)).collect();
    selections.push(slice(rows));
    selections.resize(dataset.ndim(), slice(0..u64::MAX));
    copy(dataset.read_slice::<Float>(&SliceInfo { selections })?.iter(), into)
}

fn copy<'a>(
    found: impl ExactSizeIterator<Item = &'a Float>,
    into: &mut [f32],
) -> hdf5_reader::error::Result<()> {
    if found.len() != into.len() {
        let problem = format!("{} elements instead of {}", found.len(), into.len());
        return Err(hdf5_reader::error::Error::InvalidData(problem));
    }
    into.iter_mut().zip(found).for_each(|(into, Float(x))| *into = *x);
    Ok(())
}
