//! PyTorch's caching allocator, by the rules of its `CUDACachingAllocator` for one stream.
//!
//! - Sizes round up to 512 bytes, or to the next of so many divisions between two powers of two. Requests of at most 1
//!   MiB share the small pool, the others the large one.
//! - Segments: 2 MiB in the small pool; in the large one 20 MiB for requests below 10 MiB, otherwise the request
//!   rounded up to 2 MiB.
//! - The smallest free block of the pool that fits is taken. It is split if 512 bytes remain in the small pool, more
//!   than 1 MiB in the large one.
//! - `max_split`: larger blocks are never split, serve no smaller request, and waste at most 20 MiB.
//! - On a miss: collect garbage if a threshold is set, ask for a segment, free oversize blocks, at last free every
//!   cached segment, and ask again.
//! - Expandable segments: see `torch/expandable.rs`.

mod expandable;
mod settings;

pub use settings::TorchSettingsError;

use super::chunks::{Chunks, State};
use super::{Address, Allocator, Block, FreeError, Refusal, RegionId, Regions, Statistics};
use plimsoll_trace::{Bytes, LabelId};
use std::collections::BTreeSet;

const GRANULE: u64 = 512;
const SMALL_REQUEST: u64 = 1 << 20;
const SMALL_SEGMENT: u64 = 2 << 20;
const LARGE_SEGMENT: u64 = 20 << 20;
/// From here on a request gets a segment of its own size.
const OWN_SEGMENT: u64 = 10 << 20;
const OWN_SEGMENT_UNIT: u64 = 2 << 20;

const SMALL: u8 = 0;
const LARGE: u8 = 1;

/// PyTorch's settings, as in `PYTORCH_CUDA_ALLOC_CONF`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TorchOptions {
    /// `expandable_segments`: map memory into segments that grow.
    pub expandable: bool,
    /// `max_split_size_mb`; none for no bound.
    pub max_split: Option<Bytes>,
    /// `max_non_split_rounding_mb`: what a block that is not split may waste; none for 20 MiB.
    pub non_split_rounding: Option<Bytes>,
    /// `garbage_collection_threshold`: the share of the limit above which old cached segments are freed.
    pub garbage_collection_threshold: Option<f64>,
    /// `roundup_power2_divisions`: into how many parts each power of two is cut, as the exponent of two, from 1 MiB and
    /// less to 32 GiB and more; 0 for multiples of 512 bytes.
    pub divisions: [u8; settings::INTERVALS],
}

/// PyTorch's caching allocator.
#[derive(Clone, Debug)]
pub struct Torch {
    options: TorchOptions,
    chunks: Chunks,
    /// The regions that are expandable segments.
    segments: BTreeSet<RegionId>,
}

impl Torch {
    /// An allocator without segments.
    pub fn new(options: TorchOptions) -> Self {
        Self { options, chunks: Chunks::new(2), segments: BTreeSet::new() }
    }

    /// An allocator in the middle of its work: segments of these sizes with these blocks live, as a snapshot shows
    /// them. A block's region is the number of its size, and its bytes are those of the request or of the block. None
    /// for segments that expand, and where things do not fit together.
    pub fn resume(
        options: TorchOptions,
        sizes: &[Bytes],
        live: &[(Block, LabelId)],
        regions: &mut dyn Regions,
    ) -> Option<Self> {
        if options.expandable {
            return None;
        }
        let pool = |size: &Bytes| (size.0, if size.0 == SMALL_SEGMENT { SMALL } else { LARGE });
        let sizes: Vec<(u64, u8)> = sizes.iter().map(pool).collect();
        let mut torch = Self::new(options);
        let live = torch.whole(&sizes, live)?;
        torch.chunks.resume(&sizes, &live, regions)?;
        Some(torch)
    }

    /// Blocks with what was given beyond the request: free blocks that are too small to be split off do not exist.
    fn whole(&self, sizes: &[(u64, u8)], live: &[(Block, LabelId)]) -> Option<Vec<(Block, LabelId)>> {
        let mut live = live.to_vec();
        live.sort_unstable_by_key(|(block, _)| block.address);
        let mut above: Option<Address> = None;
        for (block, _) in live.iter_mut().rev() {
            let Address { region, offset } = block.address;
            let &(size, pool) = sizes.get(region.0 as usize)?;
            let end = above.filter(|above| above.region == region).map_or(size, |above| above.offset.0);
            let room = end.checked_sub(offset.0)?;
            let bytes = rounded(block.bytes.0, &self.options.divisions)?.min(room);
            let is_apart = room > bytes && self.is_worth_splitting(pool == SMALL, bytes, room - bytes);
            block.bytes = Bytes(if is_apart { bytes } else { room });
            above = Some(block.address);
        }
        Some(live)
    }

    fn search(&mut self, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        let pool = if bytes <= SMALL_REQUEST { SMALL } else { LARGE };
        if let Some(index) = self.find(pool, bytes) {
            return Some(index);
        }
        self.collect_garbage(regions);
        if let Some(index) = self.grow(pool, bytes, regions) {
            return Some(index);
        }
        if self.release_oversize(pool, bytes, regions)
            && let Some(index) = self.grow(pool, bytes, regions)
        {
            return Some(index);
        }
        self.release_cached(regions);
        self.grow(pool, bytes, regions)
    }

    fn find(&mut self, pool: u8, bytes: u64) -> Option<u32> {
        if pool == LARGE {
            self.chunks.clock = self.chunks.clock.wrapping_add(1);
        }
        let index = match self.options.expandable {
            true => self.best_expandable_fit(pool, bytes)?,
            false => self.chunks.best_fit(pool, bytes)?,
        };
        let found = self.chunks.get(index).bytes;
        let fits = match self.options.max_split {
            Some(Bytes(most)) if bytes < most => found < most,
            Some(_) => {
                let waste = self.options.non_split_rounding.map_or(LARGE_SEGMENT, |most| most.0);
                found < bytes.saturating_add(waste)
            }
            None => true,
        };
        fits.then_some(index)
    }

    /// Whether the rest of a block is worth keeping apart.
    fn splits(&self, index: u32, bytes: u64) -> bool {
        let chunk = self.chunks.get(index);
        let is_small = chunk.pool == SMALL || self.segments.contains(&chunk.address.region);
        self.is_worth_splitting(is_small, bytes, chunk.bytes - bytes)
    }

    fn is_worth_splitting(&self, is_small: bool, bytes: u64, rest: u64) -> bool {
        match is_small {
            true => rest >= GRANULE,
            false => self.options.max_split.is_none_or(|most| bytes < most.0) && rest > SMALL_REQUEST,
        }
    }

    /// A free block of at least so many bytes from new memory.
    fn grow(&mut self, pool: u8, bytes: u64, regions: &mut dyn Regions) -> Option<u32> {
        if self.options.expandable
            && let Some(found) = self.expand(pool, bytes, regions)
        {
            return found;
        }
        let size = match bytes {
            _ if pool == SMALL => SMALL_SEGMENT,
            ..OWN_SEGMENT => LARGE_SEGMENT,
            _ => bytes.checked_next_multiple_of(OWN_SEGMENT_UNIT)?,
        };
        let region = regions.reserve(Bytes(size))?;
        Some(self.chunks.add_region(region, size, pool, State::Free, regions))
    }

    /// Frees cached segments of the large pool that are at least of average age, again and again until the threshold is
    /// kept.
    fn collect_garbage(&mut self, regions: &mut dyn Regions) {
        let Some(threshold) = self.options.garbage_collection_threshold else { return };
        let threshold = (regions.limit().0 as f64 * threshold) as u64;
        if regions.reserved().0 <= threshold {
            return;
        }
        let mut cached = self.cached(LARGE);
        while regions.reserved().0 > threshold && !cached.is_empty() {
            let age = |index: &u32| f64::from(self.chunks.clock.wrapping_sub(self.chunks.get(*index).since));
            let average = cached.iter().map(age).sum::<f64>() / cached.len() as f64;
            let (old, young): (Vec<u32>, Vec<u32>) = cached.iter().partition(|index| age(index) >= average);
            // PyTorch frees all old ones, even beyond the target, so that it has to do so less often.
            old.iter().for_each(|&index| self.chunks.release_region(index, regions));
            if old.is_empty() {
                return;
            }
            cached = young;
        }
    }

    /// Segments of a pool that are wholly free, from small to large.
    fn cached(&self, pool: u8) -> Vec<u32> {
        let free = self.chunks.free_in(pool).from(0).map(|key| key.2);
        free.filter(|&index| self.is_cached(index)).collect()
    }

    fn is_cached(&self, index: u32) -> bool {
        let chunk = self.chunks.get(index);
        chunk.is_whole_region() && !self.segments.contains(&chunk.address.region)
    }

    /// Frees one cached block that is too large to be split and large enough, or the largest ones until there is
    /// enough.
    fn release_oversize(&mut self, pool: u8, bytes: u64, regions: &mut dyn Regions) -> bool {
        let Some(Bytes(most)) = self.options.max_split else { return false };
        let wanted = bytes.max(most);
        let enough =
            self.chunks.free_in(pool).from(wanted).map(|key| key.2).find(|&index| self.is_cached(index));
        if let Some(index) = enough {
            self.chunks.release_region(index, regions);
            return true;
        }
        let smaller = self.chunks.free_in(pool).below(wanted).take_while(|key| key.0 >= most);
        let smaller: Vec<_> = smaller.filter(|key| self.is_cached(key.2)).collect();
        let mut released = 0u64;
        for (size, _, index) in smaller {
            if released < wanted {
                released += size;
                self.chunks.release_region(index, regions);
            }
        }
        released >= wanted
    }

    /// Frees every segment that is wholly free, and unmaps every page that is.
    fn release_cached(&mut self, regions: &mut dyn Regions) {
        for pool in [LARGE, SMALL] {
            for index in self.cached(pool) {
                self.chunks.release_region(index, regions);
            }
            self.unmap_free_pages(pool, regions);
        }
    }
}

impl Allocator for Torch {
    fn name(&self) -> &'static str {
        if self.options.expandable { "torch-expandable" } else { "torch" }
    }

    fn take(&mut self, bytes: Bytes, label: LabelId, regions: &mut dyn Regions) -> Result<Block, Refusal> {
        let size = rounded(bytes.0, &self.options.divisions);
        let found = size.and_then(|size| Some((self.search(size, regions)?, size)));
        let refusal = || Refusal { requested: bytes, largest_free: self.statistics().largest_free };
        let (index, size) = found.ok_or_else(refusal)?;
        let split = self.splits(index, size);
        Ok(self.chunks.take(index, split.then_some(size), label))
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

/// A request as blocks count it; none where it does not fit in 64 bits.
fn rounded(bytes: u64, divisions: &[u8; settings::INTERVALS]) -> Option<u64> {
    let interval = bytes.max(1).ilog2().saturating_sub(20) as usize;
    let exponent = u32::from(divisions[interval.min(settings::INTERVALS - 1)]);
    let least = 1u64.checked_shl(exponent).and_then(|parts| GRANULE.checked_mul(parts)).unwrap_or(u64::MAX);
    if exponent == 0 || bytes <= least {
        return bytes.max(1).checked_next_multiple_of(GRANULE);
    }
    // More than 512 bytes a part, so a part has some.
    bytes.checked_next_multiple_of(1 << (bytes.ilog2() - exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulated;

    const MIB: u64 = 1 << 20;

    struct Bench {
        torch: Torch,
        regions: Simulated,
    }

    impl Bench {
        fn new(limit: u64, options: TorchOptions) -> Self {
            Self { torch: Torch::new(options), regions: Simulated::new(Bytes(limit)) }
        }

        fn take(&mut self, bytes: u64) -> Block {
            self.torch.take(Bytes(bytes), LabelId(0), &mut self.regions).unwrap()
        }

        fn free(&mut self, block: Block) {
            self.torch.free(block.address, &mut self.regions).unwrap();
        }

        fn reserved(&self) -> u64 {
            self.regions.reserved().0
        }
    }

    #[test]
    fn segments_and_splits_follow_the_pools() {
        // Requested; the segment that is reserved for it; the block it gets.
        let cases = [
            (1, 2 * MIB, 512),
            (513, 2 * MIB, 1024),
            (MIB, 2 * MIB, MIB),
            (MIB + 1, 20 * MIB, MIB + 512),
            (9 * MIB, 20 * MIB, 9 * MIB),
            (10 * MIB, 10 * MIB, 10 * MIB),
            (11 * MIB, 12 * MIB, 12 * MIB),
            (11 * MIB - 512, 12 * MIB, 11 * MIB - 512),
        ];
        for (requested, segment, block) in cases {
            let mut bench = Bench::new(100 * MIB, TorchOptions::default());
            assert_eq!((bench.take(requested).bytes.0, bench.reserved()), (block, segment), "{requested}");
        }
    }

    #[test]
    fn sizes_round_up_to_divisions_of_powers_of_two() {
        let divisions =
            |text: &str| TorchOptions::parse(&format!("roundup_power2_divisions:{text}")).unwrap().divisions;
        // PyTorch's own example: 1200 lies between 1024 and 2048; of 1024, 1280, 1536 and 1792 it gets 1280.
        let unit = 1 << 12;
        for (bytes, expected) in [(1200, 1280), (1024, 1024), (1281, 1536), (1793, 2048)] {
            assert_eq!(rounded(bytes * unit, &divisions("4")), Some(expected * unit), "{bytes}");
        }
        // Up to 512 bytes a division nothing changes.
        assert_eq!(rounded(2000, &divisions("4")), Some(2048));
        assert_eq!(rounded(2049, &divisions("4")), Some(2560));
        let list = divisions("[1:4,2:2,>:1]");
        assert_eq!(rounded(5 * MIB / 4 + 1, &list), Some(3 * MIB / 2));
        assert_eq!(rounded(9 * MIB / 4, &list), Some(3 * MIB));
        assert_eq!(rounded(9 * MIB / 2 + 1, &list), Some(9 * MIB / 2 + 512));
        for bytes in [0, 1, 511, 512, u64::MAX / 2] {
            assert_eq!(rounded(bytes, &[0; 16]), bytes.max(1).checked_next_multiple_of(512));
        }
        assert_eq!(rounded(u64::MAX, &[2; 16]), None);
        assert_eq!(rounded(5 * MIB, &[63; 16]), Some(5 * MIB), "finer than 512 bytes is 512 bytes");
    }

    #[test]
    fn a_miss_frees_cached_segments() {
        let mut bench = Bench::new(60 * MIB, TorchOptions::default());
        let blocks = [bench.take(20 * MIB), bench.take(24 * MIB)];
        blocks.into_iter().for_each(|block| bench.free(block));
        assert_eq!(bench.reserved(), 44 * MIB, "a free caches");
        bench.take(30 * MIB);
        assert_eq!(bench.reserved(), 30 * MIB, "a miss frees all that is cached");
    }

    #[test]
    fn oversize_blocks_are_not_split_nor_given_to_small_requests() {
        let options = TorchOptions { max_split: Some(Bytes(32 * MIB)), ..TorchOptions::default() };
        let mut bench = Bench::new(200 * MIB, options);
        let large = bench.take(60 * MIB);
        bench.free(large);
        assert_eq!(bench.take(30 * MIB).address.region.0, 1, "not for a request that could be split");
        assert_eq!(bench.take(40 * MIB).address.region.0, 2, "not where 20 MiB are wasted");
        assert_eq!(bench.take(50 * MIB).bytes.0, 60 * MIB, "whole where less is wasted");
    }

    #[test]
    fn oversize_blocks_go_first_on_a_miss() {
        let options = TorchOptions { max_split: Some(Bytes(32 * MIB)), ..TorchOptions::default() };
        let mut bench = Bench::new(100 * MIB, options);
        let blocks = [bench.take(60 * MIB), bench.take(12 * MIB)];
        blocks.into_iter().for_each(|block| bench.free(block));
        bench.take(36 * MIB);
        assert_eq!(bench.reserved(), (12 + 36) * MIB, "the small segment stays cached");
    }

    #[test]
    fn garbage_is_collected_by_age() {
        let options = TorchOptions { garbage_collection_threshold: Some(0.5), ..TorchOptions::default() };
        let mut bench = Bench::new(100 * MIB, options);
        let (old, young) = (bench.take(24 * MIB), bench.take(30 * MIB));
        bench.take(2 * MIB);
        bench.free(old);
        // Searches that hit make what is free older.
        bench.take(2 * MIB);
        bench.take(2 * MIB);
        bench.free(young);
        assert_eq!(bench.reserved(), (24 + 30 + 20) * MIB);
        bench.take(40 * MIB);
        assert_eq!(bench.reserved(), (30 + 20 + 40) * MIB);
    }

    #[test]
    fn expandable_segments_grow_at_their_end_and_lose_free_pages() {
        let options = TorchOptions { expandable: true, ..TorchOptions::default() };
        let mut bench = Bench::new(100 * MIB, options);
        let (first, second) = (bench.take(30 * MIB), bench.take(30 * MIB));
        assert_eq!(bench.reserved(), 60 * MIB);
        assert_eq!((second.address.region, second.address.offset.0), (first.address.region, 30 * MIB));
        bench.free(first);
        // Three more pages are needed, and there is room for two: the first page, wholly free, is unmapped.
        assert_eq!(bench.take(50 * MIB).address.offset.0, 60 * MIB);
        assert_eq!(bench.reserved(), 100 * MIB);
    }
}
