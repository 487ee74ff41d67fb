//! TensorFlow's allocator, "best fit with coalescing", by its rules: the same addresses and chunk sizes for the same
//! requests.
//!
//! - Sizes round up to 256 bytes. The smallest free chunk that fits is taken, the lowest of equals.
//! - A chunk is split only if it has at least twice the request or if the rest has at least 128 MiB; otherwise the
//!   surplus is in use too.
//! - A freed chunk joins its free neighbours. Regions never join.
//! - With growth the first region has 2 MiB. The next target doubles until the request fits; if it did not have to, it
//!   doubles for the next time. It is capped by what the limit leaves. Where the device refuses, 0.9 of it is tried,
//!   and so on.
//! - Without growth there is one region of the whole limit.
//! - TensorFlow's `garbage_collection` is `release` here: on a miss, regions that are wholly free are given back if
//!   that could make room.

use super::chunks::{Chunk, Chunks, State};
use super::{Address, Allocator, Block, FreeError, Refusal, Regions, Statistics};
use plimsoll_trace::{Bytes, LabelId};

/// What blocks are multiples of.
const GRANULE: u64 = 256;
/// A rest of so many bytes is always split off.
const LARGE_REST: u64 = 128 << 20;
/// How much smaller a refused region is tried again. TensorFlow computes with float32 here.
const RETREAT: f32 = 0.9;

/// TensorFlow's settings. The default is how it manages the CPU: with growth, and without giving regions back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfcOptions {
    /// Reserve in growing regions, not the whole limit at once.
    pub growth: bool,
    /// Give wholly free regions back when that could make room.
    pub release: bool,
    /// The first region, with growth; 1 MiB in old versions.
    pub first_region: Bytes,
}

impl Default for BfcOptions {
    fn default() -> Self {
        Self { growth: true, release: false, first_region: Bytes::mib(2) }
    }
}

impl BfcOptions {
    /// How TensorFlow manages a GPU unless it is told otherwise.
    pub fn gpu() -> Self {
        Self { growth: false, release: true, ..Self::default() }
    }
}

/// TensorFlow's allocator.
#[derive(Clone, Debug)]
pub struct Bfc {
    options: BfcOptions,
    chunks: Chunks,
    /// The size of the next region, before it is capped.
    target: Option<u64>,
}

impl Bfc {
    /// An allocator without regions.
    pub fn new(options: BfcOptions) -> Self {
        Self { options, chunks: Chunks::new(1), target: None }
    }

    /// An allocator in the middle of its work: regions of these sizes with these blocks live, as a log or a dump shows
    /// them. A block's region is the number of its size. None where a size is refused, or a block lies outside its
    /// region or on another.
    pub fn resume(
        options: BfcOptions,
        sizes: &[Bytes],
        live: &[(Block, LabelId)],
        regions: &mut dyn Regions,
    ) -> Option<Self> {
        let mut bfc = Self::new(options);
        let of_one_pool: Vec<(u64, u8)> = sizes.iter().map(|size| (size.0, 0)).collect();
        bfc.chunks.resume(&of_one_pool, live, regions)?;
        bfc.target = sizes.last().map(|size| size.0.saturating_mul(2).max(GRANULE));
        Some(bfc)
    }

    fn find(&mut self, bytes: u64, label: LabelId) -> Option<Block> {
        let index = self.chunks.best_fit(0, bytes)?;
        let available = self.chunks.get(index).bytes;
        let split = available >= bytes.saturating_mul(2) || available - bytes >= LARGE_REST;
        Some(self.chunks.take(index, split.then_some(bytes), label))
    }

    /// Adds a region that has room for so many bytes.
    fn extend(&mut self, bytes: u64, regions: &mut dyn Regions) -> Option<()> {
        let limit = regions.limit();
        let available = limit.saturating_sub(regions.reserved()).0 / GRANULE * GRANULE;
        if bytes > available {
            return None;
        }
        let first = if self.options.growth { limit.min(self.options.first_region) } else { limit };
        let target = self.target.unwrap_or_else(|| rounded(first).unwrap_or(available).max(GRANULE));
        let mut enough = target;
        while enough < bytes {
            enough = enough.saturating_mul(2);
        }
        let mut size = enough.min(available);
        let region = loop {
            if let Some(region) = regions.reserve(Bytes(size)) {
                break region;
            }
            self.target = Some(enough);
            size = retreat(size).filter(|&smaller| smaller >= bytes)?;
        };
        self.target = Some(if enough == target { target.saturating_mul(2) } else { enough });
        self.chunks.add_region(region, size, 0, State::Free, regions);
        Some(())
    }

    /// Gives wholly free regions back if so many bytes could be had then.
    fn release(&mut self, bytes: u64, regions: &mut dyn Regions) -> Option<()> {
        if !self.options.release {
            return None;
        }
        let whole = |index: u32| Chunk::is_whole_region(self.chunks.get(index));
        let free: Vec<u32> =
            self.chunks.free_in(0).from(0).map(|key| key.2).filter(|&index| whole(index)).collect();
        let total: u64 = free.iter().map(|&index| self.chunks.get(index).bytes).sum();
        let available = regions.limit().saturating_sub(regions.reserved()).0.saturating_add(total);
        if total == 0 || bytes > available {
            return None;
        }
        free.into_iter().for_each(|index| self.chunks.release_region(index, regions));
        Some(())
    }

    fn search(&mut self, bytes: u64, label: LabelId, regions: &mut dyn Regions) -> Option<Block> {
        if let Some(block) = self.find(bytes, label) {
            return Some(block);
        }
        if self.extend(bytes, regions).is_none() {
            self.release(bytes, regions)?;
            self.extend(bytes, regions)?;
        }
        self.find(bytes, label)
    }
}

impl Allocator for Bfc {
    fn name(&self) -> &'static str {
        "bfc"
    }

    fn take(&mut self, bytes: Bytes, label: LabelId, regions: &mut dyn Regions) -> Result<Block, Refusal> {
        let block = rounded(bytes).and_then(|size| self.search(size, label, regions));
        block.ok_or_else(|| Refusal { requested: bytes, largest_free: self.statistics().largest_free })
    }

    fn free(&mut self, address: Address, _: &mut dyn Regions) -> Result<(), FreeError> {
        self.chunks.free(address).map(|_| ())
    }

    fn statistics(&self) -> Statistics {
        self.chunks.statistics()
    }

    fn blocks(&self) -> Box<dyn Iterator<Item = (Block, Option<LabelId>)> + '_> {
        self.chunks.blocks()
    }
}

/// A request as chunks count it: at least one granule; none where it does not fit in 64 bits.
fn rounded(bytes: Bytes) -> Option<u64> {
    bytes.0.max(1).checked_next_multiple_of(GRANULE)
}

/// The next smaller size to try; none where rounding leads back to the same.
fn retreat(size: u64) -> Option<u64> {
    rounded(Bytes((size as f32 * RETREAT) as u64)).filter(|&smaller| smaller < size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RegionId, Simulated};

    fn take(bfc: &mut Bfc, bytes: u64, regions: &mut dyn Regions) -> (u32, u64, u64) {
        let block = bfc.take(Bytes(bytes), LabelId(0), regions).unwrap();
        (block.address.region.0, block.address.offset.0, block.bytes.0)
    }

    #[test]
    fn regions_double_and_are_capped() {
        let mut regions = Simulated::new(Bytes::mib(40));
        let mut bfc = Bfc::new(BfcOptions::default());
        assert_eq!(take(&mut bfc, 2 << 20, &mut regions), (0, 0, 2 << 20));
        assert_eq!(regions.reserved(), Bytes::mib(2));
        // The first request did not double the target, so it was doubled for this one.
        assert_eq!(take(&mut bfc, 1, &mut regions), (1, 0, 256));
        assert_eq!(regions.reserved(), Bytes::mib(6));
        // Doubled to 16 MiB for this one, so the next target is 16 MiB again.
        assert_eq!(take(&mut bfc, 9 << 20, &mut regions), (2, 0, 16 << 20), "less than twice: not split");
        assert_eq!(regions.reserved(), Bytes::mib(22));
        assert_eq!(take(&mut bfc, 15 << 20, &mut regions), (3, 0, 16 << 20));
        assert_eq!(regions.reserved(), Bytes::mib(38));
        let refusal = bfc.take(Bytes::mib(5), LabelId(0), &mut regions).unwrap_err();
        assert_eq!(refusal.largest_free, Bytes((4 << 20) - 256));
        assert_eq!(take(&mut bfc, (4 << 20) - 256, &mut regions), (1, 256, (4 << 20) - 256));
        assert_eq!(take(&mut bfc, 2 << 20, &mut regions), (4, 0, 2 << 20), "what the limit leaves");
    }

    #[test]
    fn a_large_rest_is_split_off() {
        let mut regions = Simulated::new(Bytes::mib(1000));
        let mut bfc = Bfc::new(BfcOptions { growth: false, ..BfcOptions::default() });
        assert_eq!(take(&mut bfc, 800 << 20, &mut regions), (0, 0, 800 << 20), "200 MiB are left");
        assert_eq!(take(&mut bfc, 101 << 20, &mut regions), (0, 800 << 20, 200 << 20), "99 MiB are not");
    }

    /// Refuses regions of more than some bytes, as a fragmented device does.
    struct Stubborn(Simulated, Bytes);

    impl Regions for Stubborn {
        fn reserve(&mut self, bytes: Bytes) -> Option<RegionId> {
            (bytes <= self.1).then(|| self.0.reserve(bytes))?
        }

        fn release(&mut self, region: RegionId) {
            self.0.release(region);
        }

        fn limit(&self) -> Bytes {
            self.0.limit()
        }

        fn reserved(&self) -> Bytes {
            self.0.reserved()
        }
    }

    #[test]
    fn a_refused_region_is_tried_smaller() {
        let mut regions = Stubborn(Simulated::new(Bytes::mib(100)), Bytes::mib(82));
        let mut bfc = Bfc::new(BfcOptions { growth: false, ..BfcOptions::default() });
        assert_eq!(take(&mut bfc, 1000, &mut regions).2, 1024);
        // 100 and 90 MiB are refused, 81 is not.
        assert_eq!(regions.reserved().0, (81 << 20) as u64);
        let mut regions = Stubborn(Simulated::new(Bytes::mib(100)), Bytes::ZERO);
        assert!(bfc.take(Bytes::mib(90), LabelId(0), &mut regions).is_err());
        assert!(
            Bfc::new(BfcOptions::default()).take(Bytes(1), LabelId(0), &mut regions).is_err(),
            "and ends"
        );
    }

    #[test]
    fn work_can_be_resumed() {
        let block = |region, offset, bytes| {
            let address = Address { region: RegionId(region), offset: plimsoll_trace::Offset(offset) };
            (Block { address, bytes: Bytes(bytes) }, LabelId(7))
        };
        let resume = |live: &[(Block, LabelId)]| {
            let mut regions = Simulated::new(Bytes::mib(4));
            Bfc::resume(BfcOptions::default(), &[Bytes(4096), Bytes(1024)], live, &mut regions)
                .map(|bfc| (bfc, regions))
        };
        let (mut bfc, mut regions) =
            resume(&[block(1, 0, 1024), block(0, 3840, 256), block(0, 512, 256)]).unwrap();
        assert_eq!(bfc.statistics().in_use, Bytes(1536));
        assert_eq!(take(&mut bfc, 300, &mut regions), (0, 0, 512), "the gap at the start fits best");
        assert_eq!(bfc.statistics().largest_free, Bytes(3840 - 768));
        for (block, _) in [block(1, 0, 0), block(0, 3840, 0), block(0, 512, 0), block(0, 0, 0)] {
            bfc.free(block.address, &mut regions).unwrap();
        }
        assert_eq!(bfc.statistics().largest_free, Bytes(4096));
        for bad in [block(2, 0, 256), block(0, 4096, 256), block(0, 3840, 512), block(0, u64::MAX, 256)] {
            assert!(resume(&[bad]).is_none(), "{bad:?}");
        }
        assert!(resume(&[block(0, 0, 512), block(0, 256, 512)]).is_none(), "one on the other");
        assert!(resume(&[block(0, 0, 4096), block(0, 0, 256)]).is_none(), "one on the other, which is full");
    }

    #[test]
    fn free_regions_are_given_back_when_that_makes_room() {
        for release in [false, true] {
            let mut regions = Simulated::new(Bytes::mib(12));
            let mut bfc = Bfc::new(BfcOptions { release, ..BfcOptions::default() });
            let small = bfc.take(Bytes::mib(2), LabelId(0), &mut regions).unwrap();
            let held = bfc.take(Bytes::mib(3), LabelId(0), &mut regions).unwrap();
            bfc.free(small.address, &mut regions).unwrap();
            assert!(bfc.take(Bytes::mib(9), LabelId(0), &mut regions).is_err(), "4 of 12 MiB are held");
            assert_eq!(regions.reserved(), Bytes::mib(6), "a release that could not help is not made");
            assert_eq!(bfc.take(Bytes::mib(7), LabelId(0), &mut regions).is_ok(), release);
            bfc.free(held.address, &mut regions).unwrap();
        }
    }
}
