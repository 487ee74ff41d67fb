//! Where an allocator's regions come from.

use plimsoll_trace::Bytes;
use std::collections::BTreeMap;

/// Names a region; names are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// Memory that can be had in regions, up to a limit.
pub trait Regions {
    /// Reserves a region of exactly so many bytes, unless the limit or the system refuses.
    fn reserve(&mut self, bytes: Bytes) -> Option<RegionId>;

    /// Gives a region back.
    fn release(&mut self, region: RegionId);

    /// What all regions may have together.
    fn limit(&self) -> Bytes;

    /// What they have.
    fn reserved(&self) -> Bytes;
}

/// Regions that are only counted.
#[derive(Clone, Debug)]
pub struct Simulated {
    limit: Bytes,
    reserved: Bytes,
    regions: BTreeMap<RegionId, Bytes>,
    next: u32,
}

impl Simulated {
    /// No regions yet, up to a limit.
    pub fn new(limit: Bytes) -> Self {
        Self { limit, reserved: Bytes::ZERO, regions: BTreeMap::new(), next: 0 }
    }
}

impl Regions for Simulated {
    fn reserve(&mut self, bytes: Bytes) -> Option<RegionId> {
        if bytes > self.limit.saturating_sub(self.reserved) {
            return None;
        }
        let id = RegionId(self.next);
        self.next += 1;
        self.reserved += bytes;
        self.regions.insert(id, bytes);
        Some(id)
    }

    fn release(&mut self, region: RegionId) {
        let bytes = self.regions.remove(&region).unwrap_or_default();
        self.reserved = self.reserved - bytes;
    }

    fn limit(&self) -> Bytes {
        self.limit
    }

    fn reserved(&self) -> Bytes {
        self.reserved
    }
}
