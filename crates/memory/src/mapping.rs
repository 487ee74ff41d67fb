//! Memory that a piece of hardware has mapped: on the host a range of addresses that the operating system backs with
//! zeroed pages as they are touched, elsewhere what the device says it is.

#![allow(unsafe_code)]

use crate::Memory;
use memmap2::{MmapOptions, MmapRaw};
use plimsoll_trace::{Bytes, Offset};

/// Mapped memory; dropping it gives it back. Whoever made it can no longer touch it: only the device that it becomes a
/// part of can.
#[derive(Debug)]
pub struct Mapping {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Memory of the host, which has addresses.
    Host(MmapRaw),
    /// Memory that only its device can address.
    Elsewhere(Box<dyn Memory>),
}

impl Mapping {
    /// Maps so many bytes of the host; pages are zero and take no memory until they are first written.
    pub fn lazy(bytes: Bytes) -> std::io::Result<Self> {
        Self::map(MmapOptions::new().len(length(bytes)))
    }

    /// Maps so many bytes of the host and takes the memory for all of them at once, where the operating system can.
    pub fn committed(bytes: Bytes) -> std::io::Result<Self> {
        Self::map(MmapOptions::new().len(length(bytes)).populate())
    }

    /// Memory that is not the host's.
    pub fn elsewhere(memory: impl Memory + 'static) -> Self {
        Self { kind: Kind::Elsewhere(Box::new(memory)) }
    }

    fn map(options: &MmapOptions) -> std::io::Result<Self> {
        let map = options.map_anon()?;
        // Large pages make large tensors faster; where there are none, nothing is lost.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { kind: Kind::Host(map.into()) })
    }

    /// Its length.
    pub fn bytes(&self) -> Bytes {
        match &self.kind {
            Kind::Host(map) => Bytes(map.len() as u64),
            Kind::Elsewhere(memory) => memory.bytes(),
        }
    }

    /// The address of an offset in it, valid until the mapping is dropped; nothing if it is not the host's.
    ///
    /// # Panics
    /// If the offset lies beyond the end.
    pub(crate) fn pointer(&self, offset: Offset) -> Option<*mut u8> {
        assert!(offset.distance() <= self.bytes(), "{} is beyond {}", offset.distance(), self.bytes());
        let Kind::Host(map) = &self.kind else { return None };
        // SAFETY: the offset was just checked to lie inside the mapping or at its end.
        Some(unsafe { map.as_mut_ptr().add(offset.as_usize()) })
    }

    /// Copies a range out.
    ///
    /// # Safety
    /// Nobody else may write to the range meanwhile.
    pub(crate) unsafe fn read(&self, from: Offset, into: &mut [u8]) {
        match &self.kind {
            Kind::Elsewhere(memory) => memory.read(from, into),
            Kind::Host(_) => {
                let start = self.range(from, Bytes(into.len() as u64));
                // SAFETY: the range lies inside the mapping, `into` is not a part of it, and the caller says that
                // nobody writes.
                unsafe { start.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
            }
        }
    }

    /// Copies bytes into a range.
    ///
    /// # Safety
    /// Nobody else may hold a reference into the range.
    pub(crate) unsafe fn write(&self, into: Offset, from: &[u8]) {
        match &self.kind {
            Kind::Elsewhere(memory) => memory.write(into, from),
            Kind::Host(_) => {
                let start = self.range(into, Bytes(from.len() as u64));
                // SAFETY: the range lies inside the mapping, and the caller says that nobody else looks at it.
                unsafe { start.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
            }
        }
    }

    /// Overwrites a range with zeros.
    ///
    /// # Safety
    /// Nobody else may hold a reference into the range.
    pub(crate) unsafe fn zero(&self, start: Offset, bytes: Bytes) {
        match &self.kind {
            Kind::Elsewhere(memory) => memory.zero(start, bytes),
            // SAFETY: the range lies inside the mapping, and the caller says that nobody else looks at it.
            Kind::Host(_) => unsafe { self.range(start, bytes).write_bytes(0, bytes.as_usize()) },
        }
    }

    /// Gives the pages of a range back to the system; they read as zero from then on. False where it cannot.
    ///
    /// # Safety
    /// Nobody else may hold a reference into the range, or into a page that it shares with its neighbours.
    pub(crate) unsafe fn discard(&self, start: Offset, bytes: Bytes) -> bool {
        match &self.kind {
            Kind::Elsewhere(memory) => memory.discard(start, bytes),
            // SAFETY: the caller says that nobody uses these pages.
            Kind::Host(map) => unsafe { discard(map, start, bytes) },
        }
    }

    /// The address of a range of the host's memory.
    fn range(&self, start: Offset, bytes: Bytes) -> *mut u8 {
        assert!((start + bytes).distance() <= self.bytes());
        self.pointer(start).expect("it is the host's")
    }
}

/// Only Linux promises that discarded pages read as zero.
///
/// # Safety
/// Nobody may hold a reference into the pages of the range.
#[cfg(target_os = "linux")]
unsafe fn discard(map: &MmapRaw, start: Offset, bytes: Bytes) -> bool {
    let advice = memmap2::UncheckedAdvice::DontNeed;
    // SAFETY: the mapping is private and anonymous, and the caller says that nobody uses these pages.
    unsafe { map.unchecked_advise_range(advice, start.as_usize(), bytes.as_usize()) }.is_ok()
}

#[cfg(not(target_os = "linux"))]
unsafe fn discard(_: &MmapRaw, _: Offset, _: Bytes) -> bool {
    false
}

/// An empty mapping is an error of the operating system, but an empty plan is none of ours.
fn length(bytes: Bytes) -> usize {
    bytes.as_usize().max(1)
}
