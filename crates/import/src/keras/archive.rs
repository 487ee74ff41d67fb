//! The parts of a `.keras` archive, within limits: nothing is unpacked beyond what a model can need.

use super::KerasError;
use super::configuration::LARGEST_CONFIG;
use std::fs::File;
use std::io::{Read, Seek};
use zip::{CompressionMethod, ZipArchive};

/// The most bytes of packed weights that are unpacked; those that Keras writes are not packed, and not limited.
const LARGEST_PACKED: u64 = 2 << 30;
/// The most of them that are unpacked to memory; larger ones go to a temporary file.
const LARGEST_IN_MEMORY: u64 = 16 << 20;

/// What a `.keras` archive holds.
pub(super) struct Archive {
    pub(super) config: Vec<u8>,
    pub(super) metadata: Option<Vec<u8>>,
    pub(super) weights: Option<Member>,
}

/// Weights in an archive.
pub(super) enum Member {
    /// At an offset of the archive, so many bytes, as they are.
    Stored { offset: u64, length: u64, checksum: u32 },
    /// Unpacked to memory.
    Unpacked(Vec<u8>),
    /// Unpacked to a file without a name.
    Spilled(File),
}

impl Archive {
    /// Reads an archive of so many bytes.
    pub(super) fn read(file: impl Read + Seek, length: u64) -> Result<Self, KerasError> {
        let mut zip = ZipArchive::new(file).map_err(broken)?;
        let foreign = || KerasError::Foreign("the archive has no config.json".to_string());
        let config = member(&mut zip, "config.json", LARGEST_CONFIG)?.ok_or_else(foreign)?;
        let metadata = member(&mut zip, "metadata.json", LARGEST_CONFIG)?;
        let weights = weights(&mut zip, length)?;
        Ok(Self { config, metadata, weights })
    }
}

fn weights<R: Read + Seek>(zip: &mut ZipArchive<R>, length: u64) -> Result<Option<Member>, KerasError> {
    const NAME: &str = "model.weights.h5";
    let Some(index) = zip.index_for_name(NAME) else { return Ok(None) };
    let entry = zip.by_index(index).map_err(broken)?;
    if entry.compression() != CompressionMethod::Stored || entry.encrypted() {
        if entry.size() > LARGEST_IN_MEMORY {
            return spill(entry, NAME).map(Some);
        }
        drop(entry);
        return Ok(member(zip, NAME, LARGEST_IN_MEMORY)?.map(Member::Unpacked));
    }
    let (start, size, checksum) = (entry.data_start(), entry.size(), entry.crc32());
    let offset = start.ok_or_else(|| KerasError::Archive(format!("{NAME} has no place")))?;
    match offset.checked_add(size) {
        Some(end) if end <= length => Ok(Some(Member::Stored { offset, length: size, checksum })),
        _ => Err(KerasError::Archive(format!("{NAME} goes beyond the end of the file"))),
    }
}

/// Unpacks a member to a file that goes away by itself.
fn spill(entry: impl Read, name: &str) -> Result<Member, KerasError> {
    let mut file = tempfile::tempfile()?;
    let copied = std::io::copy(&mut entry.take(LARGEST_PACKED + 1), &mut file);
    match copied.map_err(|error| broken(error.into()))? {
        found if found > LARGEST_PACKED => {
            Err(KerasError::TooLarge { what: name.to_string(), found, most: LARGEST_PACKED })
        }
        _ => Ok(Member::Spilled(file)),
    }
}

/// The bytes of a member, as far as they are within a limit, whatever size the archive declares.
fn member<R: Read + Seek>(
    zip: &mut ZipArchive<R>,
    name: &str,
    most: u64,
) -> Result<Option<Vec<u8>>, KerasError> {
    let Some(index) = zip.index_for_name(name) else { return Ok(None) };
    let entry = zip.by_index(index).map_err(broken)?;
    let too_large = |found: u64| KerasError::TooLarge { what: name.to_string(), found, most };
    if entry.size() > most {
        return Err(too_large(entry.size()));
    }
    let mut bytes = Vec::new();
    entry.take(most + 1).read_to_end(&mut bytes).map_err(|error| broken(error.into()))?;
    if bytes.len() as u64 > most { Err(too_large(bytes.len() as u64)) } else { Ok(Some(bytes)) }
}

fn broken(error: zip::result::ZipError) -> KerasError {
    KerasError::Archive(error.to_string())
}
