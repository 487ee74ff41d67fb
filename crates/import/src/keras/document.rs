//! A file that Keras has written: which kind it is, its configuration, and where its weights are.

use super::KerasError;
use super::archive::{Archive, Member};
use super::configuration::{LARGEST_CONFIG, parse};
use super::store::{Region, Store};
use hdf5_reader::storage::{BytesStorage, DynStorage, FileStorage};
use plimsoll_state::input_file;
use serde_json::Value;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

/// A file that Keras has written.
pub(super) struct Document {
    pub(super) kind: Kind,
    /// The configuration as it was written, byte for byte.
    pub(super) text: Vec<u8>,
    pub(super) config: Value,
    /// How it was compiled, where that is not part of the configuration.
    pub(super) training: Option<Value>,
    pub(super) store: Option<Store>,
    /// What stands beside the configuration of a `.keras` file.
    pub(super) metadata: Option<Vec<u8>>,
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `.keras`: an archive of configuration and weights.
    Archive,
    /// `model.to_json()`: a configuration alone.
    Json,
    /// `.h5`: everything in one HDF5 file.
    Legacy,
}

impl Document {
    pub(super) fn open(path: &Path) -> Result<Self, KerasError> {
        let mut file = input_file::open(path)?;
        let mut magic = Vec::new();
        file.by_ref().take(8).read_to_end(&mut magic)?;
        match kind(&magic) {
            Kind::Archive => {
                let archive = Archive::read(&file, file.metadata()?.len())?;
                Self::of_archive(archive, Arc::new(FileStorage::from_file(file).map_err(broken)?))
            }
            Kind::Legacy => Self::of_legacy(Arc::new(FileStorage::from_file(file).map_err(broken)?)),
            Kind::Json => {
                let mut text = magic;
                file.take(LARGEST_CONFIG + 1).read_to_end(&mut text)?;
                Self::of_json(text)
            }
        }
    }

    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Self, KerasError> {
        match kind(&bytes) {
            Kind::Archive => {
                let archive = Archive::read(Cursor::new(&bytes), bytes.len() as u64)?;
                Self::of_archive(archive, Arc::new(BytesStorage::new(bytes)))
            }
            Kind::Legacy => Self::of_legacy(Arc::new(BytesStorage::new(bytes))),
            Kind::Json => Self::of_json(bytes),
        }
    }

    fn of_archive(archive: Archive, whole: DynStorage) -> Result<Self, KerasError> {
        let store = match archive.weights {
            None => None,
            Some(Member::Stored { offset, length, checksum }) => {
                Some(Store::open_region(Region { whole, offset, length }, checksum)?)
            }
            Some(Member::Spilled(file)) => {
                Some(Store::open(Arc::new(FileStorage::from_file(file).map_err(broken)?))?)
            }
            Some(Member::Unpacked(bytes)) => Some(Store::open(Arc::new(BytesStorage::new(bytes)))?),
        };
        let config = parse(&archive.config)?;
        let (text, metadata) = (archive.config, archive.metadata);
        Ok(Self { kind: Kind::Archive, text, config, training: None, store, metadata })
    }

    fn of_json(text: Vec<u8>) -> Result<Self, KerasError> {
        let config = parse(&text)?;
        Ok(Self { kind: Kind::Json, text, config, training: None, store: None, metadata: None })
    }

    fn of_legacy(storage: DynStorage) -> Result<Self, KerasError> {
        let store = Store::open(storage)?;
        let missing = || KerasError::Foreign("it has weights, but no model_config".to_string());
        let text = store.text("/", "model_config").ok_or_else(missing)?.into_bytes();
        let config = parse(&text)?;
        let training = store.text("/", "training_config").map(|text| parse(text.as_bytes())).transpose()?;
        Ok(Self { kind: Kind::Legacy, text, config, training, store: Some(store), metadata: None })
    }
}

fn kind(start: &[u8]) -> Kind {
    match start {
        [b'P', b'K', ..] => Kind::Archive,
        [0x89, b'H', b'D', b'F', ..] => Kind::Legacy,
        _ => Kind::Json,
    }
}

fn broken(error: hdf5_reader::error::Error) -> KerasError {
    KerasError::weights("/", error)
}
