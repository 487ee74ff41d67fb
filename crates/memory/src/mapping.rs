//! A range of addresses that the operating system backs with zeroed pages as they are touched.

#![allow(unsafe_code)]

use memmap2::{MmapOptions, MmapRaw};
use plimsoll_trace::{Bytes, Offset};

/// Mapped memory; dropping it gives it back to the operating system.
#[derive(Debug)]
pub struct Mapping {
    map: MmapRaw,
}

impl Mapping {
    /// Maps at least so many bytes, in whole pages; pages are zero and take no memory until they are first written.
    pub fn new(bytes: Bytes) -> std::io::Result<Self> {
        // An empty mapping is an error of the operating system, but an empty plan is none of ours.
        let map = MmapOptions::new().len(bytes.as_usize().max(1)).map_anon()?;
        // Large pages make large tensors faster; where there are none, nothing is lost.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map: map.into() })
    }

    /// Its length.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.map.len() as u64)
    }

    /// The address of an offset in it, valid until the mapping is dropped.
    ///
    /// # Panics
    /// If the offset lies beyond the end.
    pub fn pointer(&self, offset: Offset) -> *mut u8 {
        assert!(offset.distance() <= self.bytes(), "{} is beyond {}", offset.distance(), self.bytes());
        // SAFETY: the offset was just checked to lie inside the mapping or at its end.
        unsafe { self.map.as_mut_ptr().add(offset.as_usize()) }
    }
}
