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
    /// Maps so many bytes; pages are zero and take no memory until they are first written.
    pub fn lazy(bytes: Bytes) -> std::io::Result<Self> {
        Self::map(MmapOptions::new().len(length(bytes)))
    }

    /// Maps so many bytes and takes the memory for all of them at once, where the operating system can.
    pub fn committed(bytes: Bytes) -> std::io::Result<Self> {
        Self::map(MmapOptions::new().len(length(bytes)).populate())
    }

    fn map(options: &MmapOptions) -> std::io::Result<Self> {
        let map = options.map_anon()?;
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

    /// Overwrites a range with zeros.
    ///
    /// # Safety
    /// Nobody else may hold a reference into the range.
    pub(crate) unsafe fn clear(&self, start: Offset, bytes: Bytes) {
        assert!((start + bytes).distance() <= self.bytes());
        // SAFETY: the range lies inside the mapping, and the caller says that nobody else looks at it.
        unsafe { self.pointer(start).write_bytes(0, bytes.as_usize()) }
    }

    /// Gives the pages of a range back to the operating system; they read as zero from then on. False where it cannot.
    ///
    /// # Safety
    /// Nobody else may hold a reference into the range, or into a page that it shares with its neighbours.
    pub(crate) unsafe fn discard(&self, start: Offset, bytes: Bytes) -> bool {
        // Only Linux promises that discarded pages read as zero.
        #[cfg(target_os = "linux")]
        {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the mapping is private and anonymous, and the caller says that nobody uses these pages.
            unsafe { self.map.unchecked_advise_range(advice, start.as_usize(), bytes.as_usize()) }.is_ok()
        }
        #[cfg(not(target_os = "linux"))]
        false
    }
}

/// An empty mapping is an error of the operating system, but an empty plan is none of ours.
fn length(bytes: Bytes) -> usize {
    bytes.as_usize().max(1)
}
