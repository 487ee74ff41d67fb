//! Mapped memory that belongs to one holder: one page, or several of the same size that are apart.
//!
//! Page `k` has the bytes `[k * page, (k + 1) * page)`; the last is only as long as it must be.
//!
//! Invariant: the device gives no byte to two pieces at a time, so a piece may hand out its bytes like a slice it owns.

#![allow(unsafe_code)]

use crate::Device;
use crate::books::Ticket;
use crate::mapping::Mapping;
use plimsoll_trace::{Bytes, Offset};
use std::sync::Arc;

/// The smallest page that systems have in use; where pages are larger, they refuse, and nothing is given.
const SYSTEM_PAGE: u64 = 4 << 10;

/// Part of a device's memory; dropping it gives it back to the device.
#[derive(Debug)]
pub(crate) struct Piece {
    /// There until it is dropped.
    pub(crate) pages: Vec<Page>,
    /// The size of all pages but the last.
    pub(crate) page: Bytes,
    /// How many bytes all pages have.
    pub(crate) bytes: Bytes,
    pub(crate) device: Device,
    /// Its line in the device's list of holders.
    pub(crate) ticket: Ticket,
}

/// A range of a mapping.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) mapping: Arc<Mapping>,
    /// Where it begins in the mapping.
    pub(crate) start: Offset,
}

/// The lengths of the pages that so many bytes take; without a size, there is one.
pub(crate) fn page_lengths(bytes: Bytes, page: Bytes) -> impl Iterator<Item = Bytes> {
    let count = bytes.0.div_ceil(page.0).max(1);
    (0..count).map(move |index| Bytes(page.0.min(bytes.0 - index * page.0)))
}

impl Piece {
    /// Whether its bytes have addresses.
    pub(crate) fn is_host(&self) -> bool {
        self.pages.iter().all(|page| page.mapping.pointer(page.start).is_some())
    }

    /// The address of a range, for kernels. It stays valid until the piece is dropped.
    ///
    /// # Panics
    /// If the range leaves its page, or the memory has no addresses.
    pub(crate) fn pointer(&self, offset: Offset, bytes: Bytes) -> *mut u8 {
        let end = (offset + bytes).distance();
        assert!(end <= self.bytes, "{end} is beyond the {} there are", self.bytes);
        let (page, inside) = self.find(offset);
        assert!((inside + bytes).distance() <= self.page, "{bytes} at {} leave their page", offset.0);
        page.mapping.pointer(page.start + inside.distance()).expect("the memory has addresses")
    }

    /// The contents of a range of one page.
    pub(crate) fn bytes(&self, offset: Offset, bytes: Bytes) -> &[u8] {
        let pointer = self.pointer(offset, bytes);
        // SAFETY: the range was checked, is mapped as long as `self` lives, and no other piece has it.
        unsafe { std::slice::from_raw_parts(pointer, bytes.as_usize()) }
    }

    /// The contents of a range of one page, to be changed.
    pub(crate) fn bytes_mut(&mut self, offset: Offset, bytes: Bytes) -> &mut [u8] {
        let pointer = self.pointer(offset, bytes);
        // SAFETY: as above, and `self` is borrowed for the time of the change.
        unsafe { std::slice::from_raw_parts_mut(pointer, bytes.as_usize()) }
    }

    /// Copies a range out, across pages.
    pub(crate) fn read(&self, offset: Offset, into: &mut [u8]) {
        let mut rest = into;
        self.each_page(offset, Bytes(rest.len() as u64), |mapping, start, bytes| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(bytes.as_usize());
            // SAFETY: the range is this piece's, and `self` is borrowed, so nobody writes.
            unsafe { mapping.read(start, now) };
            rest = later;
        });
    }

    /// Copies bytes into a range, across pages.
    pub(crate) fn write(&mut self, offset: Offset, from: &[u8]) {
        let mut rest = from;
        self.each_page(offset, Bytes(rest.len() as u64), |mapping, start, bytes| {
            let (now, later) = rest.split_at(bytes.as_usize());
            // SAFETY: the range is this piece's, and `self` is borrowed for the time of the change.
            unsafe { mapping.write(start, now) };
            rest = later;
        });
    }

    /// Overwrites a range with zeros, across pages.
    pub(crate) fn zero(&mut self, offset: Offset, bytes: Bytes) {
        // SAFETY: the range is this piece's, and `self` is borrowed for the time of the change.
        self.each_page(offset, bytes, |mapping, start, bytes| unsafe { mapping.zero(start, bytes) });
    }

    /// Gives what lies in a range to the system as far as it is whole pages of its own; it reads as zeros where it was
    /// given. What cannot be given stays as it is.
    pub(crate) fn discard(&mut self, offset: Offset, bytes: Bytes) {
        self.each_page(offset, bytes, |mapping, start, bytes| {
            let end = (start + bytes).0 / SYSTEM_PAGE * SYSTEM_PAGE;
            let start = start.0.next_multiple_of(SYSTEM_PAGE);
            if start < end {
                // SAFETY: the range is this piece's and made of whole pages, and `self` is borrowed meanwhile.
                unsafe { mapping.discard(Offset(start), Bytes(end - start)) };
            }
        });
    }

    /// Cuts a range where pages end; `visit` gets a mapping, where the part begins in it, and its length.
    fn each_page(&self, offset: Offset, bytes: Bytes, mut visit: impl FnMut(&Mapping, Offset, Bytes)) {
        let end = (offset + bytes).distance();
        assert!(end <= self.bytes, "{end} is beyond the {} there are", self.bytes);
        let (mut at, mut left) = (offset, bytes);
        while left > Bytes::ZERO {
            let (page, inside) = self.find(at);
            let part = left.min(self.page - inside.distance());
            visit(&page.mapping, page.start + inside.distance(), part);
            (at, left) = (at + part, left - part);
        }
    }

    /// The page of an offset, and the offset inside it. The end of the last page belongs to it.
    fn find(&self, offset: Offset) -> (&Page, Offset) {
        if let [page] = &self.pages[..] {
            return (page, offset);
        }
        let index = ((offset.0 / self.page.0) as usize).min(self.pages.len() - 1);
        (&self.pages[index], Offset(offset.0 - index as u64 * self.page.0))
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // Unmapped first: the device must not promise to somebody else what is still here.
        self.pages.clear();
        self.device.give_back(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_is_only_as_long_as_it_must_be() {
        let lengths = |bytes, page| page_lengths(Bytes(bytes), Bytes(page)).map(|b| b.0).collect::<Vec<_>>();
        assert_eq!(lengths(10, 4), [4, 4, 2]);
        assert_eq!(lengths(8, 4), [4, 4]);
        assert_eq!(lengths(3, u64::MAX), [3]);
        assert_eq!(lengths(0, 4), [0]);
    }
}
