//! What is in the tensors of a state, read in pieces.

use crate::{State, StateError};
use std::io;

/// How many bytes are moved at once.
pub const CHUNK: usize = 1 << 20;

/// Gives what is in the tensors of one state. Bytes are little-endian and row-major.
pub trait Contents {
    /// Reads bytes from an offset of a tensor, which is named by its position in [`State::tensors`].
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

/// All bytes in memory, one buffer for each tensor.
impl Contents for [Vec<u8>] {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| self.get(tensor)?.get(start..start.checked_add(into.len())?));
        into.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl<const N: usize> Contents for [Vec<u8>; N] {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self[..].read(tensor, offset, into)
    }
}

/// Hands the bytes of a tensor to `take` in order, at most [`CHUNK`] of them at once, each time with their offset.
pub fn each_chunk(
    state: &State,
    contents: &dyn Contents,
    tensor: usize,
    mut take: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> Result<(), StateError> {
    let Some(total) = state.tensors.get(tensor).map(|tensor| tensor.bytes().0) else { return Ok(()) };
    let failed = |error| StateError::Contents { tensor: state.tensors[tensor].name.clone(), error };
    let mut buffer = vec![0; total.min(CHUNK as u64) as usize];
    let mut offset = 0;
    while offset < total {
        let length = (total - offset).min(CHUNK as u64) as usize;
        contents.read(tensor, offset, &mut buffer[..length]).map_err(failed)?;
        take(offset, &buffer[..length]).map_err(failed)?;
        offset += length as u64;
    }
    Ok(())
}
