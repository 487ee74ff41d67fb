//! One mapped range of memory in which every tensor has a planned offset.
//!
//! Invariant: it has exactly the capacity asked for (the operating system rounds it up to whole pages) and never grows. Pages
//! are zero until they are first written and take no memory before that.

use crate::Device;
use crate::piece::Piece;
use plimsoll_trace::{Bytes, Offset};

/// A mapped range of a device's memory; dropping it gives the memory back.
#[derive(Debug)]
pub struct Arena {
    piece: Piece,
}

impl Arena {
    pub(crate) fn new(piece: Piece) -> Self {
        Self { piece }
    }

    /// How many bytes it has.
    pub fn capacity(&self) -> Bytes {
        self.piece.bytes
    }

    /// The device it is a part of.
    pub fn device(&self) -> &Device {
        &self.piece.device
    }

    /// The address of a range, for kernels. It stays valid until the arena is dropped.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn address(&mut self, offset: Offset, bytes: Bytes) -> *mut u8 {
        self.piece.pointer(offset, bytes)
    }

    /// The contents of a range.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn bytes(&self, offset: Offset, bytes: Bytes) -> &[u8] {
        self.piece.bytes(offset, bytes)
    }

    /// The contents of a range, to be changed.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn bytes_mut(&mut self, offset: Offset, bytes: Bytes) -> &mut [u8] {
        self.piece.bytes_mut(offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked() {
        let mut arena = Device::host(Bytes::mib(1)).arena("test", Bytes(100)).unwrap();
        arena.bytes_mut(Offset(90), Bytes(10)).fill(7);
        assert_eq!(arena.bytes(Offset(89), Bytes(3)), [0, 7, 7]);
        let beyond = std::panic::catch_unwind(|| arena.bytes(Offset(90), Bytes(11)).len());
        assert!(beyond.is_err());
    }
}
