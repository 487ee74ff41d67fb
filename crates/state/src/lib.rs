//! The State document: what training has learned so far.
//!
//! A [`State`] says which tensors there are and how far the run is; the bytes stay where they are, on a device or in a
//! file, and are read in pieces through [`Contents`]. So a state of any size is written and read in a few mebibytes.
//! This crate does I/O: [`safetensors`] is a state on disk, [`whole_file`] writes files that are there whole or not at
//! all, [`growing_file`] those that grow, and [`input_file`] opens what others wrote.
//!
//! ```
//! use plimsoll_graph::{Role, TensorType};
//! use plimsoll_state::{State, Tensor, safetensors};
//!
//! let bias = Tensor { name: "dense/bias".into(), tensor: TensorType::f32([2]), role: Role::Parameter };
//! let state = State { model: "small".into(), tensors: vec![bias], step: 3, updates: 3, ..State::default() };
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("small.safetensors");
//! let bytes: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! safetensors::write(&path, &state, &[bytes])?;
//! let (read, _contents) = safetensors::open(&path)?;
//! assert_eq!(read, state);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod contents;
mod destination;
mod error;
pub mod growing_file;
pub mod input_file;
mod orphans;
pub mod safetensors;
mod state;
mod verify;
pub mod whole_file;

pub use compare::{Mismatch, Pairs, pair};
pub use contents::{CHUNK, Contents, each_chunk};
pub use error::StateError;
pub use state::{State, Tensor};
pub use verify::verify;

#[cfg(target_endian = "big")]
compile_error!("tensors are exchanged as they lie in memory, which must be little-endian");
