//! Files of Keras in a build without HDF5: configurations alone, the `.json` of `to_json()`. Whatever has weights is
//! refused, with the reason.

use super::KerasError;

const ABSENT: &str = "this build reads and writes no HDF5: the feature `hdf5` of the library is off";

/// Stands for `document.rs`.
pub(super) mod document {
    use super::super::configuration::{LARGEST_CONFIG, parse};
    use super::store::Store;
    use super::{ABSENT, KerasError};
    use plimsoll_state::input_file;
    use serde_json::Value;
    use std::io::Read;
    use std::path::Path;

    pub(in crate::keras) struct Document {
        pub(in crate::keras) kind: Kind,
        pub(in crate::keras) config: Value,
        pub(in crate::keras) training: Option<Value>,
        pub(in crate::keras) store: Option<Store>,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::keras) enum Kind {
        Archive,
        Json,
        Legacy,
    }

    impl Document {
        pub(in crate::keras) fn open(path: &Path) -> Result<Self, KerasError> {
            let mut text = Vec::new();
            input_file::open(path)?.take(LARGEST_CONFIG + 1).read_to_end(&mut text)?;
            Self::from_bytes(text)
        }

        pub(in crate::keras) fn from_bytes(bytes: Vec<u8>) -> Result<Self, KerasError> {
            if bytes.starts_with(b"PK") || bytes.starts_with(b"\x89HDF") {
                return Err(KerasError::Kind(ABSENT.to_string()));
            }
            Ok(Self { kind: Kind::Json, config: parse(&bytes)?, training: None, store: None })
        }
    }
}

/// Stands for `store.rs`: there is none.
pub(super) mod store {
    use super::KerasError;

    pub(in crate::keras) enum Store {}

    impl Store {
        pub(in crate::keras) fn read(
            &self,
            _: &str,
            _: &[usize],
            _: usize,
            _: &mut [f32],
        ) -> Result<(), KerasError> {
            match *self {}
        }

        pub(in crate::keras) fn elements(&self, _: &str) -> u64 {
            match *self {}
        }

        pub(in crate::keras) fn has(&self, _: &str) -> bool {
            match *self {}
        }

        pub(in crate::keras) fn integer(&self, _: &str) -> Option<i32> {
            match *self {}
        }

        pub(in crate::keras) fn texts(&self, _: &str, _: &str) -> Result<Vec<String>, KerasError> {
            match *self {}
        }
    }
}

/// Stands for `write.rs`.
pub(super) mod write {
    use super::super::{Keras, OptimizerVariable};
    use super::{ABSENT, KerasError};
    use plimsoll_state::{Contents, State};
    use std::path::Path;

    pub(in crate::keras) fn check(_: &Keras, _: &Path) -> Result<(), KerasError> {
        Err(KerasError::Kind(ABSENT.to_string()))
    }

    pub(in crate::keras) fn count(_: &Keras, _: &str) -> i32 {
        0
    }

    pub(in crate::keras) fn write(
        keras: &Keras,
        path: &Path,
        _: &State,
        _: &dyn Contents,
        _: &[(&str, Vec<OptimizerVariable>)],
    ) -> Result<(), KerasError> {
        check(keras, path)
    }
}
