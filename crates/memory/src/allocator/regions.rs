//! Where an allocator's regions come from.

use plimsoll_trace::{Bytes, Offset};
use std::collections::BTreeMap;

/// Names a region; names are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// Memory that can be had in regions, up to a limit.
///
/// Devices that can reserve addresses without memory behind them, and map memory there later, say so by implementing
/// [`Regions::reserve_addresses`], [`Regions::map`] and [`Regions::unmap`]; others leave them out.
pub trait Regions {
    /// Reserves a region of exactly so many bytes, unless the limit or the system refuses.
    fn reserve(&mut self, bytes: Bytes) -> Option<RegionId>;

    /// Gives a region back, with all memory that is mapped in it.
    fn release(&mut self, region: RegionId);

    /// What all regions may have together.
    fn limit(&self) -> Bytes;

    /// What they have.
    fn reserved(&self) -> Bytes;

    /// Where a region begins in the address space. Allocators that prefer low addresses compare regions by it.
    fn base(&self, region: RegionId) -> u64 {
        u64::from(region.0)
    }

    /// Reserves a region of addresses without memory behind them.
    fn reserve_addresses(&mut self, _bytes: Bytes) -> Option<RegionId> {
        None
    }

    /// Puts memory behind a part of a region that has none, unless the limit or the system refuses.
    fn map(&mut self, _region: RegionId, _at: Offset, _bytes: Bytes) -> bool {
        false
    }

    /// Takes the memory behind a part of a region away.
    fn unmap(&mut self, _region: RegionId, _at: Offset, _bytes: Bytes) {}
}

/// Regions that are only counted.
#[derive(Clone, Debug)]
pub struct Simulated {
    limit: Bytes,
    reserved: Bytes,
    regions: BTreeMap<RegionId, Simulation>,
    bases: Vec<u64>,
    next: u32,
    top: u64,
    whole: bool,
}

/// A region that is only counted.
#[derive(Clone, Copy, Debug)]
struct Simulation {
    base: u64,
    mapped: Bytes,
}

impl Simulated {
    /// No regions yet, up to a limit. They will lie one after another.
    pub fn new(limit: Bytes) -> Self {
        Self {
            limit,
            reserved: Bytes::ZERO,
            regions: BTreeMap::new(),
            bases: Vec::new(),
            next: 0,
            top: 0,
            whole: false,
        }
    }

    /// Regions that begin where they once did: the first at the first base, and so on.
    pub fn with_bases(limit: Bytes, bases: Vec<u64>) -> Self {
        Self { bases, ..Self::new(limit) }
    }

    /// Regions that have all their memory at once, as mapped ones do: there are no addresses without memory behind
    /// them.
    pub fn in_one_piece(limit: Bytes) -> Self {
        Self { whole: true, ..Self::new(limit) }
    }

    fn add(&mut self, addresses: Bytes, mapped: Bytes) -> RegionId {
        let id = RegionId(self.next);
        let base = self.bases.get(id.0 as usize).copied().unwrap_or(self.top);
        self.next += 1;
        self.top = self.top.saturating_add(addresses.0);
        self.reserved += mapped;
        self.regions.insert(id, Simulation { base, mapped });
        id
    }
}

impl Regions for Simulated {
    fn reserve(&mut self, bytes: Bytes) -> Option<RegionId> {
        (bytes <= self.limit.saturating_sub(self.reserved)).then(|| self.add(bytes, bytes))
    }

    fn release(&mut self, region: RegionId) {
        let mapped = self.regions.remove(&region).map_or(Bytes::ZERO, |region| region.mapped);
        self.reserved = self.reserved - mapped;
    }

    fn limit(&self) -> Bytes {
        self.limit
    }

    fn reserved(&self) -> Bytes {
        self.reserved
    }

    fn base(&self, region: RegionId) -> u64 {
        self.regions.get(&region).map_or(0, |region| region.base)
    }

    fn reserve_addresses(&mut self, bytes: Bytes) -> Option<RegionId> {
        (!self.whole).then(|| self.add(bytes, Bytes::ZERO))
    }

    fn map(&mut self, region: RegionId, _at: Offset, bytes: Bytes) -> bool {
        let fits = bytes <= self.limit.saturating_sub(self.reserved);
        match self.regions.get_mut(&region) {
            Some(simulation) if fits => {
                simulation.mapped += bytes;
                self.reserved += bytes;
                true
            }
            _ => false,
        }
    }

    fn unmap(&mut self, region: RegionId, _at: Offset, bytes: Bytes) {
        if let Some(simulation) = self.regions.get_mut(&region) {
            simulation.mapped = simulation.mapped - bytes;
            self.reserved = self.reserved - bytes;
        }
    }
}
