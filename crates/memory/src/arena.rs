//! One mapped range of memory in which every tensor has a planned offset.
//!
//! Invariant: the mapping has exactly the capacity asked for (rounded up to whole pages by the operating system) and
//! never grows. Pages are zero until they are first written and take no memory before that.

#![allow(unsafe_code)]

use crate::Device;
use memmap2::MmapMut;
use plimsoll_trace::{Bytes, Offset};

/// A mapped range of a device's memory; dropping it gives the memory back to the operating system.
#[derive(Debug)]
pub struct Arena {
    map: MmapMut,
    capacity: Bytes,
    device: Device,
}

impl Arena {
    pub(crate) fn map(device: Device, capacity: Bytes) -> std::io::Result<Self> {
        // An empty mapping is an error of the operating system, but an empty plan is none of ours.
        let map = MmapMut::map_anon(capacity.as_usize().max(1))?;
        // Large pages make large tensors faster; where there are none, nothing is lost.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map, capacity, device })
    }

    /// How many bytes it has.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The device it is a part of.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The address of a range, for kernels. It stays valid until the arena is dropped.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn address(&mut self, offset: Offset, bytes: Bytes) -> *mut u8 {
        self.check(offset, bytes);
        // SAFETY: the range was just checked to lie inside the mapping.
        unsafe { self.map.as_mut_ptr().add(offset.as_usize()) }
    }

    /// The contents of a range.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn bytes(&self, offset: Offset, bytes: Bytes) -> &[u8] {
        self.check(offset, bytes);
        &self.map[offset.as_usize()..][..bytes.as_usize()]
    }

    /// The contents of a range, to be changed.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn bytes_mut(&mut self, offset: Offset, bytes: Bytes) -> &mut [u8] {
        self.check(offset, bytes);
        &mut self.map[offset.as_usize()..][..bytes.as_usize()]
    }

    fn check(&self, offset: Offset, bytes: Bytes) {
        let end = (offset + bytes).distance();
        assert!(end <= self.capacity, "{end} is beyond the arena's {}", self.capacity);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.device.give_back(self.capacity);
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
