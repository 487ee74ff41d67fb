//! A state on disk: the safetensors format, which Python's `safetensors` and much else reads.
//!
//! ```text
//! 8 bytes   the length of the header, little-endian
//! header    JSON: "__metadata__" with texts, and for each tensor its dtype, shape and the range of its bytes
//! bytes     of all tensors, without holes
//! ```
//! What a state says beyond its tensors stands in the metadata, under names that begin with `plimsoll.`. A file without
//! them has weights alone: it is read as a state to which no update was applied.
//!
//! Invariant: nothing is allocated by what a file declares beyond the length it has; tensors are moved in pieces of
//! [`CHUNK`].

mod header;
mod metadata;

use crate::{CHUNK, Contents, State, StateError, each_chunk, input_file, verify, whole_file};
use header::{Entry, Header, LARGEST_HEADER};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

/// Writes a state, whole or not at all.
pub fn write(path: &Path, state: &State, contents: &dyn Contents) -> Result<(), StateError> {
    verify(state)?;
    let entries = header::lay_out(&state.tensors);
    let order = header::order(&entries);
    let text = Header { metadata: metadata::print(state), entries }.print();
    if text.len() as u64 > LARGEST_HEADER {
        return Err(StateError::Invalid(format!("its names take {} bytes, too many for a file", text.len())));
    }
    whole_file::write(path, |file| -> Result<(), Failed> {
        file.write_all(&(text.len() as u64).to_le_bytes())?;
        file.write_all(&text)?;
        order.iter().try_for_each(|&tensor| {
            let copied = each_chunk(state, contents, tensor, |_, bytes| file.write_all(bytes));
            copied.map_err(Failed::State)
        })
    })
    .map_err(|failed| match failed {
        Failed::State(error) => error,
        Failed::File(error) => StateError::File { path: path.to_path_buf(), error },
    })
}

/// Opens a state; its tensors stay on the disk until they are asked for.
pub fn open(path: &Path) -> Result<(State, StateFile), StateError> {
    let failed = |error| StateError::File { path: path.to_path_buf(), error };
    let broken = |problem| StateError::Format { path: path.to_path_buf(), problem };
    let mut file = input_file::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let text = match read_header(&mut file, length).map_err(failed)? {
        Ok(text) => text,
        Err(problem) => return Err(broken(problem)),
    };
    let start = 8 + text.len() as u64;
    let header = Header::parse(&text, length - start).map_err(broken)?;
    let state = metadata::parse(&header).map_err(broken)?;
    verify(&state).map_err(|error| broken(error.to_string()))?;
    let starts = header.entries.iter().map(|entry: &Entry| start + entry.begin).collect();
    let lengths = header.entries.iter().map(|entry| entry.end - entry.begin).collect();
    Ok((state, StateFile { file: Mutex::new(file), starts, lengths }))
}

/// The tensors of a state on disk.
#[derive(Debug)]
pub struct StateFile {
    file: Mutex<File>,
    /// Where each tensor begins in the file.
    starts: Vec<u64>,
    lengths: Vec<u64>,
}

impl Contents for StateFile {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let (Some(start), Some(&length)) = (self.starts.get(tensor), self.lengths.get(tensor)) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut file = self.file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.seek(SeekFrom::Start(start + offset))?;
        file.read_exact(into)
    }
}

/// What went wrong while a file was written: the file, or what should have gone there.
enum Failed {
    File(io::Error),
    State(StateError),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// The header of a file of some length, or what is wrong with it.
fn read_header(file: &mut File, length: u64) -> io::Result<Result<Vec<u8>, String>> {
    let mut declared = [0; 8];
    if length < 8 {
        return Ok(Err(format!("it has {length} bytes, too few for a safetensors file")));
    }
    file.read_exact(&mut declared)?;
    let declared = u64::from_le_bytes(declared);
    if declared > LARGEST_HEADER {
        return Ok(Err(format!(
            "its header would have {declared} bytes: it is no safetensors file, or damaged"
        )));
    }
    if declared > length - 8 {
        return Ok(Err(format!("it is cut: its header has {declared} bytes, the file {length}")));
    }
    let mut text = vec![0; declared as usize];
    file.read_exact(&mut text)?;
    Ok(Ok(text))
}

const _: () = assert!(CHUNK.is_multiple_of(4), "chunks hold whole elements");
