//! One region that grows at its end, as far as the device can map memory piece by piece; otherwise a region of the
//! whole limit.

use super::chunks::{Chunk, Chunks, NONE, State};
use super::{Address, Block, FreeError, Regions, Statistics};
use plimsoll_trace::{Alignment, Bytes, LabelId};

/// What blocks are multiples of.
const GRANULE: u64 = Alignment::CACHE_LINE.bytes();

/// More than any device has; beyond it a limit is no limit.
const MOST: Bytes = Bytes(1 << 60);

/// A region with an end that moves.
///
/// Equation: `last` is the chunk at the end; where memory is mapped piece by piece it has none, and it is never used
/// up.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    pub(super) chunks: Chunks,
    last: u32,
}

impl Heap {
    pub(super) fn new() -> Self {
        Self { chunks: Chunks::new(1), last: NONE }
    }

    /// A request as chunks count it; none where it does not fit in 64 bits.
    pub(super) fn rounded(bytes: Bytes) -> Option<u64> {
        bytes.0.max(1).checked_next_multiple_of(GRANULE)
    }

    /// The free chunk at the end, grown until it has so many bytes.
    pub(super) fn top(&mut self, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        if bytes > regions.limit().0 {
            return None;
        }
        self.begin(regions)?;
        let last = *self.chunks.get(self.last);
        if last.state != State::Unmapped {
            return (last.state == State::Free && last.bytes >= bytes).then_some(self.last);
        }
        let before = (last.previous != NONE).then(|| self.chunks.get(last.previous));
        let free = before.filter(|chunk| chunk.state == State::Free).map_or(0, |chunk| chunk.bytes);
        let missing = bytes.saturating_sub(free);
        match missing {
            0 => Some(last.previous),
            _ => self.grow(missing, regions),
        }
    }

    pub(super) fn take(&mut self, index: u32, bytes: u64, label: LabelId) -> Block {
        let whole = self.chunks.get(index).bytes == bytes;
        let block = self.chunks.take(index, (!whole).then_some(bytes), label);
        if index == self.last && !whole {
            self.last = self.chunks.get(index).next;
        }
        block
    }

    pub(super) fn free(&mut self, address: Address) -> Result<(), FreeError> {
        let joined = self.chunks.free(address)?;
        if self.chunks.get(joined).next == NONE {
            self.last = joined;
        }
        Ok(())
    }

    pub(super) fn statistics(&self) -> Statistics {
        self.chunks.statistics()
    }

    fn begin(&mut self, regions: &mut dyn Regions) -> Option<()> {
        if self.last != NONE {
            return Some(());
        }
        let limit = regions.limit().min(MOST);
        // One granule more than can ever be mapped, so that the end always has a chunk.
        let addresses = Self::rounded(limit)? + GRANULE;
        let (region, bytes, state) = match regions.reserve_addresses(Bytes(addresses)) {
            Some(region) => (region, addresses, State::Unmapped),
            None => (regions.reserve(limit)?, limit.0, State::Free),
        };
        self.last = self.chunks.add_region(region, bytes, 0, state, regions);
        Some(())
    }

    fn grow(&mut self, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        let Chunk { address, bytes: left, .. } = *self.chunks.get(self.last);
        if bytes >= left || !regions.map(address.region, address.offset, Bytes(bytes)) {
            return None;
        }
        let grown = self.last;
        self.last = self.chunks.split(grown, bytes);
        Some(self.chunks.change(grown, State::Free, regions))
    }
}
