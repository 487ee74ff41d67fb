//! A range of mapped memory that belongs to one holder.
//!
//! Invariant: the device gives no byte to two pieces at a time, so a piece may hand out its bytes like a slice it owns.

#![allow(unsafe_code)]

use crate::Device;
use crate::books::Ticket;
use crate::mapping::Mapping;
use plimsoll_trace::{Bytes, Offset};
use std::sync::Arc;

/// Part of a device's memory; dropping it gives it back to the device.
#[derive(Debug)]
pub(crate) struct Piece {
    /// There until it is dropped.
    pub(crate) mapping: Option<Arc<Mapping>>,
    /// Where it begins in the mapping.
    pub(crate) start: Offset,
    pub(crate) bytes: Bytes,
    pub(crate) device: Device,
    /// Its line in the device's list of holders.
    pub(crate) ticket: Ticket,
}

impl Piece {
    /// The address of a range, for kernels. It stays valid until the piece is dropped.
    ///
    /// # Panics
    /// If the range leaves the piece.
    pub(crate) fn pointer(&self, offset: Offset, bytes: Bytes) -> *mut u8 {
        let end = (offset + bytes).distance();
        assert!(end <= self.bytes, "{end} is beyond the {} there are", self.bytes);
        let mapping = self.mapping.as_ref().expect("the piece was not dropped");
        mapping.pointer(self.start + offset.distance())
    }

    /// The contents of a range.
    pub(crate) fn bytes(&self, offset: Offset, bytes: Bytes) -> &[u8] {
        let pointer = self.pointer(offset, bytes);
        // SAFETY: the range was checked, is mapped as long as `self` lives, and no other piece has it.
        unsafe { std::slice::from_raw_parts(pointer, bytes.as_usize()) }
    }

    /// The contents of a range, to be changed.
    pub(crate) fn bytes_mut(&mut self, offset: Offset, bytes: Bytes) -> &mut [u8] {
        let pointer = self.pointer(offset, bytes);
        // SAFETY: as above, and `self` is borrowed for the time of the change.
        unsafe { std::slice::from_raw_parts_mut(pointer, bytes.as_usize()) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // Unmapped first: the device must not promise to somebody else what is still here.
        self.mapping = None;
        self.device.give_back(self.ticket);
    }
}
