//! Weights in HDF5, read straight to where they are needed.
//!
//! Nothing is allocated by what a file declares: the caller knows the shape it wants, and a file that has another is refused.

use super::KerasError;
use half::{bf16, f16};
use hdf5_reader::storage::DynStorage;
use hdf5_reader::{Dataset, Datatype, Hdf5File, OpenOptions, Storage, StorageBuffer};
use std::sync::Arc;

/// How much larger than its file a packed dataset can be: what deflate can do at best.
const LARGEST_RATIO: u64 = 1032;

/// An open HDF5 file.
pub(super) struct Store {
    file: Hdf5File,
    length: u64,
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
        let file = Hdf5File::from_storage_with_options(storage, options);
        let file = file.map_err(|error| KerasError::weights("/", error))?;
        let superblock = file.superblock();
        match superblock.eof_address.saturating_add(superblock.base_address) > length {
            true => Err(KerasError::weights("/", "the file is shorter than it says")),
            false => Ok(Self { file, length }),
        }
    }

    pub(super) fn open_region(whole: DynStorage, offset: u64, length: u64) -> Result<Self, KerasError> {
        Self::open(Arc::new(Region { whole, offset, length }))
    }

    /// Reads a dataset of a known shape.
    pub(super) fn read(&self, path: &str, shape: &[usize], into: &mut [f32]) -> Result<(), KerasError> {
        let dataset = self.dataset(path, shape)?;
        let failed = |error| KerasError::weights(path, error);
        match dataset.dtype() {
            Datatype::FloatingPoint { size: 4, .. } => dataset.read_into(into).map_err(failed),
            Datatype::FloatingPoint { size: 8, .. } => {
                let mut wide = vec![0f64; into.len()];
                dataset.read_into(&mut wide).map_err(failed)?;
                into.iter_mut().zip(wide).for_each(|(into, x)| *into = x as f32);
                Ok(())
            }
            Datatype::FloatingPoint { size: 2, .. } => {
                self.read_halves(&dataset, path, into, |bits| f16::from_bits(bits).to_f32())
            }
            // Keras writes bfloat16, which HDF5 does not have, as two bytes without a meaning.
            Datatype::Opaque { size: 2, .. } => {
                self.read_halves(&dataset, path, into, |bits| bf16::from_bits(bits).to_f32())
            }
            other => Err(KerasError::weights(path, format!("they are of type {other:?}, not floats"))),
        }
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

    fn read_halves(
        &self,
        dataset: &Dataset,
        path: &str,
        into: &mut [f32],
        convert: impl Fn(u16) -> f32,
    ) -> Result<(), KerasError> {
        let mut bytes = vec![0; into.len() * 2];
        dataset.read_native_bytes_into(&mut bytes).map_err(|error| KerasError::weights(path, error))?;
        let halves = bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
        into.iter_mut().zip(halves).for_each(|(into, bits)| *into = convert(bits));
        Ok(())
    }
}
