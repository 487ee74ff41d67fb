//! The memory in which every tensor of a run has a planned offset: one page, or a list of pages.
//!
//! Invariant: it has exactly the capacity asked for (the operating system rounds it up to whole pages of its own) and
//! never grows. It is zero until it is first written, and on the host takes no memory before that.

use crate::Device;
use crate::piece::Piece;
use plimsoll_trace::{Bytes, Offset};

/// Memory of a device, cut into pages where the device asks for it; dropping it gives the memory back.
///
/// Page `k` has the bytes `[k * page, (k + 1) * page)`. Pages may lie anywhere, so what must be in one piece may not
/// cross a multiple of the page size.
#[derive(Debug)]
pub struct Arena {
    piece: Piece,
}

/// An arena of the host, whose bytes have addresses; for kernels that run there.
#[derive(Debug)]
pub struct HostArena {
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

    /// How many pages these are.
    pub fn pages(&self) -> usize {
        self.piece.pages.len()
    }

    /// The device it is a part of.
    pub fn device(&self) -> &Device {
        &self.piece.device
    }

    /// The same with addresses, or the arena itself if its memory has none.
    pub fn into_host(self) -> Result<HostArena, Self> {
        match self.piece.is_host() {
            true => Ok(HostArena { piece: self.piece }),
            false => Err(self),
        }
    }

    /// Copies a range out; it may cross pages.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn read(&self, from: Offset, into: &mut [u8]) {
        self.piece.read(from, into);
    }

    /// Copies bytes into a range; it may cross pages.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn write(&mut self, into: Offset, from: &[u8]) {
        self.piece.write(into, from);
    }

    /// Gives a range back to the system as far as it is whole pages, until it is written again; what is in it is
    /// undefined from then on.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn discard(&mut self, start: Offset, bytes: Bytes) {
        self.piece.discard(start, bytes);
    }

    /// Overwrites a range with zeros; it may cross pages.
    ///
    /// # Panics
    /// If the range leaves the arena.
    pub fn zero(&mut self, start: Offset, bytes: Bytes) {
        self.piece.zero(start, bytes);
    }
}

impl HostArena {
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
    /// If the range leaves its page or the arena.
    pub fn address(&mut self, offset: Offset, bytes: Bytes) -> *mut u8 {
        self.piece.pointer(offset, bytes)
    }

    /// The contents of a range.
    ///
    /// # Panics
    /// If the range leaves its page or the arena.
    pub fn bytes(&self, offset: Offset, bytes: Bytes) -> &[u8] {
        self.piece.bytes(offset, bytes)
    }

    /// The contents of a range, to be changed.
    ///
    /// # Panics
    /// If the range leaves its page or the arena.
    pub fn bytes_mut(&mut self, offset: Offset, bytes: Bytes) -> &mut [u8] {
        self.piece.bytes_mut(offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Growth, Host, PhysicalDevice};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn host(growth: Growth, bytes: u64, page: Option<u64>) -> HostArena {
        let device = PhysicalDevice::new(Host::of(Bytes::mib(4))).logical("host", Bytes::mib(4), growth);
        let arena = device.unwrap().arena("test", Bytes(bytes), page.map(Bytes)).unwrap();
        assert_eq!(arena.pages() as u64, page.map_or(1, |page| bytes.div_ceil(page)));
        arena.into_host().unwrap()
    }

    #[test]
    fn ranges_are_checked() {
        for growth in [Growth::On, Growth::Off] {
            let mut arena = host(growth, 100, None);
            arena.bytes_mut(Offset(90), Bytes(10)).fill(7);
            assert_eq!(arena.bytes(Offset(89), Bytes(3)), [0, 7, 7]);
            assert!(arena.bytes(Offset(100), Bytes::ZERO).is_empty());
            assert!(catch_unwind(|| arena.bytes(Offset(90), Bytes(11)).len()).is_err());
        }
    }

    #[test]
    fn nothing_in_one_piece_crosses_a_page() {
        for (growth, page) in
            [Growth::On, Growth::Off].into_iter().flat_map(|growth| [(growth, 4096), (growth, 768)])
        {
            let mut arena = host(growth, 5 * page - 256, Some(page));
            for index in 0..4 {
                arena.bytes_mut(Offset(index * page), Bytes(page)).fill(index as u8 + 1);
            }
            let edge = |arena: &HostArena, at, bytes| arena.bytes(Offset(at), Bytes(bytes)).to_vec();
            assert_eq!(edge(&arena, 2 * page - 2, 2), [2, 2]);
            assert_eq!(edge(&arena, 2 * page, 2), [3, 3]);
            assert!(catch_unwind(AssertUnwindSafe(|| edge(&arena, 2 * page - 1, 2))).is_err());
            assert_eq!(edge(&arena, 5 * page - 258, 2), [0, 0], "the last page ends early");
            assert!(catch_unwind(AssertUnwindSafe(|| edge(&arena, 5 * page - 257, 2))).is_err());
            assert!(arena.address(Offset(3 * page + 64), Bytes(64)).addr().is_multiple_of(64));
        }
    }

    #[test]
    fn copies_may_cross_pages() {
        let device = Device::host(Bytes::mib(1));
        let mut arena = device.arena("test", Bytes(1000), Some(Bytes(256))).unwrap();
        let bytes: Vec<u8> = (0..900u32).map(|byte| byte as u8).collect();
        arena.write(Offset(50), &bytes);
        arena.zero(Offset(300), Bytes(400));
        let mut found = vec![9; 1000];
        arena.read(Offset::START, &mut found);
        for (at, &byte) in found.iter().enumerate() {
            let kept = (50..950).contains(&at) && !(300..700).contains(&at);
            assert_eq!(byte, if kept { bytes[at - 50] } else { 0 }, "{at}");
        }
        assert!(catch_unwind(AssertUnwindSafe(|| arena.read(Offset(1), &mut found))).is_err());
    }
}
