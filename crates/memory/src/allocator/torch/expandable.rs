//! Expandable segments: a pool is one range of addresses, larger than the device, into which memory is mapped page by
//! page.
//!
//! A page has 2 MiB in the small pool and 20 MiB in the large one. On need, pages that are wholly free are unmapped and
//! mapped elsewhere. A device that cannot map memory piece by piece gets plain segments, as in PyTorch.

use super::{LARGE_SEGMENT, SMALL, SMALL_SEGMENT, Torch};
use crate::allocator::Regions;
use crate::allocator::chunks::{Chunk, NONE, State};
use plimsoll_trace::{Bytes, Offset};

impl Torch {
    /// The best fit, where a block at the growing end counts as large as it could become: it is kept for those who need
    /// that.
    pub(super) fn best_expandable_fit(&self, pool: u8, bytes: u64) -> Option<u32> {
        let reach = |index: u32| {
            let Chunk { bytes, next, .. } = *self.chunks.get(index);
            let after = (next != NONE).then(|| self.chunks.get(next));
            bytes + after.filter(|chunk| chunk.state == State::Unmapped).map_or(0, |chunk| chunk.bytes)
        };
        let mut candidates = self.chunks.free_in(pool).from(bytes).map(|key| key.2);
        let mut best = candidates.next()?;
        for next in candidates {
            if reach(next) >= reach(best) {
                break;
            }
            best = next;
        }
        Some(best)
    }

    /// A free block of at least so many bytes, from memory mapped for it; none inside where the device refuses, none at
    /// all where it cannot map.
    pub(super) fn expand(&mut self, pool: u8, bytes: u64, regions: &mut dyn Regions) -> Option<Option<u32>> {
        let index = self.room(pool, bytes, regions)?;
        Some(self.fill(index, bytes, regions))
    }

    /// Unmaps the pages of a pool that are wholly free.
    pub(super) fn unmap_free_pages(&mut self, pool: u8, regions: &mut dyn Regions) {
        let free: Vec<u32> = self.chunks.free_in(pool).from(0).map(|key| key.2).collect();
        for index in free {
            if self.segments.contains(&self.chunks.get(index).address.region) {
                self.unmap(index, regions);
            }
        }
    }

    /// The first of a row of chunks that are not live and together have addresses for so many bytes.
    fn room(&mut self, pool: u8, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        let starts = self.chunks.unmapped_in(pool).map(|index| {
            let previous = self.chunks.get(index).previous;
            let free = previous != NONE && self.chunks.get(previous).state == State::Free;
            if free { previous } else { index }
        });
        let enough = |&start: &u32| {
            let (mut index, mut found) = (start, 0);
            while found < bytes && index != NONE && self.chunks.get(index).state != State::Live {
                found += self.chunks.get(index).bytes;
                index = self.chunks.get(index).next;
            }
            found >= bytes
        };
        let mut starts = starts;
        if let Some(start) = starts.find(enough) {
            return Some(start);
        }
        drop(starts);
        self.add_segment(pool, bytes, regions)
    }

    /// Addresses for nine eighths of the device, so that one segment is almost always enough.
    fn add_segment(&mut self, pool: u8, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        let limit = regions.limit().0;
        let addresses =
            limit.saturating_add(limit / 8).min(1 << 60).max(bytes).checked_next_multiple_of(page(pool))?;
        let region = regions.reserve_addresses(Bytes(addresses))?;
        self.segments.insert(region);
        Some(self.chunks.add_region(region, addresses, pool, State::Unmapped, regions))
    }

    /// Maps memory behind a chunk and those after it until it has so many bytes.
    fn fill(&mut self, index: u32, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        let mut filled = index;
        if self.chunks.get(index).state == State::Unmapped {
            filled = self.map(index, bytes, regions)?;
        }
        loop {
            let Chunk { bytes: found, next, .. } = *self.chunks.get(filled);
            if found >= bytes {
                return Some(filled);
            }
            filled = self.map(next, bytes - found, regions)?;
        }
    }

    /// Maps pages at the start of a chunk that has none, enough for so many bytes if it has the addresses; gives the
    /// free chunk they are in.
    fn map(&mut self, index: u32, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        let Chunk { address, bytes: addresses, pool, .. } = *self.chunks.get(index);
        let mapped = bytes.checked_next_multiple_of(page(pool))?.min(addresses);
        if !regions.map(address.region, address.offset, Bytes(mapped)) {
            return None;
        }
        if mapped < addresses {
            self.chunks.split(index, mapped);
        }
        Some(self.chunks.change(index, State::Free, regions))
    }

    /// Unmaps the whole pages inside a free chunk, and gives its segment back if nothing else is in it.
    fn unmap(&mut self, index: u32, regions: &mut dyn Regions) {
        let Chunk { address, bytes, pool, .. } = *self.chunks.get(index);
        let page = page(pool);
        let (start, end) = (address.offset.0, address.offset.0 + bytes);
        let (first, last) = (start.next_multiple_of(page), end / page * page);
        if first >= last {
            return;
        }
        let pages = if first > start { self.chunks.split(index, first - start) } else { index };
        if last < end {
            self.chunks.split(pages, last - first);
        }
        regions.unmap(address.region, Offset(first), Bytes(last - first));
        let joined = self.chunks.change(pages, State::Unmapped, regions);
        if self.chunks.get(joined).is_whole_region() {
            self.segments.remove(&address.region);
            self.chunks.release_region(joined, regions);
        }
    }
}

fn page(pool: u8) -> u64 {
    if pool == SMALL { SMALL_SEGMENT } else { LARGE_SEGMENT }
}
