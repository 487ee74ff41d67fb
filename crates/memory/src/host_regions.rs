//! Regions that are really there: each is mapped on a device and counts against its limit.
//!
//! Equation: `reserved = sum of the bytes of these regions`; with everything else the device holds it stays within the
//! device's limit.

use crate::piece::Piece;
use crate::{Address, Device, RegionId, Regions};
use plimsoll_trace::Bytes;
use std::collections::BTreeMap;

/// Regions of a device's memory, mapped one by one and given back when they are released or dropped.
///
/// ```
/// use plimsoll_memory::{Address, Device, HostRegions, Regions};
/// use plimsoll_trace::{Bytes, Offset};
///
/// let device = Device::host(Bytes::mib(1));
/// let mut regions = HostRegions::new(&device);
/// let region = regions.reserve(Bytes(4096)).expect("there is room");
/// let address = Address { region, offset: Offset(64) };
/// regions.bytes_mut(address, Bytes(4)).copy_from_slice(&[1, 2, 3, 4]);
/// assert_eq!(regions.bytes(address, Bytes(2)), [1, 2]);
/// assert_eq!(device.in_use(), Bytes(4096));
/// ```
#[derive(Debug)]
pub struct HostRegions {
    device: Device,
    who: String,
    regions: BTreeMap<RegionId, Piece>,
    reserved: Bytes,
    next: u32,
    changes: u64,
}

impl HostRegions {
    /// No regions yet, on a device whose limit they share with everything else it holds. Its memory must be the host's
    /// ([`Device::is_host`]).
    pub fn new(device: &Device) -> Self {
        Self::named(device, "an allocator's region")
    }

    /// The same, with a name for the device's list of who holds what.
    pub fn named(device: &Device, who: &str) -> Self {
        let (regions, reserved) = (BTreeMap::new(), Bytes::ZERO);
        Self { device: device.clone(), who: who.to_string(), regions, reserved, next: 0, changes: 0 }
    }

    /// The device they are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How often a region was reserved or released.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The regions that are there, and how long they are.
    pub fn list(&self) -> impl Iterator<Item = (RegionId, Bytes)> + '_ {
        self.regions.iter().map(|(id, piece)| (*id, piece.bytes))
    }

    /// Where an address is in host memory, for kernels. It stays valid until the region is released.
    ///
    /// # Panics
    /// If there is no such region, or it ends before the address.
    pub fn pointer(&self, address: Address) -> *mut u8 {
        self.region(address).pointer(address.offset, Bytes::ZERO)
    }

    /// The contents of a range that begins at an address.
    ///
    /// # Panics
    /// If there is no such region, or the range leaves it.
    pub fn bytes(&self, address: Address, bytes: Bytes) -> &[u8] {
        self.region(address).bytes(address.offset, bytes)
    }

    /// The contents of a range that begins at an address, to be changed.
    ///
    /// # Panics
    /// If there is no such region, or the range leaves it.
    pub fn bytes_mut(&mut self, address: Address, bytes: Bytes) -> &mut [u8] {
        let region = self.regions.get_mut(&address.region).expect("the region is reserved");
        region.bytes_mut(address.offset, bytes)
    }

    /// Gives a range back to the system as far as it is whole pages, until it is written again; what is in it is
    /// undefined from then on. It stays reserved. A region that is gone has nothing to give.
    ///
    /// # Panics
    /// If the range leaves its region.
    pub fn discard(&mut self, address: Address, bytes: Bytes) {
        if let Some(region) = self.regions.get_mut(&address.region) {
            region.discard(address.offset, bytes);
        }
    }

    fn region(&self, address: Address) -> &Piece {
        self.regions.get(&address.region).expect("the region is reserved")
    }
}

impl Regions for HostRegions {
    fn reserve(&mut self, bytes: Bytes) -> Option<RegionId> {
        let piece = self.device.take(&self.who, bytes, None).ok()?;
        assert!(piece.is_host(), "{} is not on the host", self.device.name());
        let id = RegionId(self.next);
        self.next += 1;
        self.changes += 1;
        self.reserved += bytes;
        self.regions.insert(id, piece);
        Some(id)
    }

    fn release(&mut self, region: RegionId) {
        if let Some(piece) = self.regions.remove(&region) {
            self.changes += 1;
            self.reserved = self.reserved - piece.bytes;
        }
    }

    /// What the device leaves to these regions: its limit without what others hold of it.
    fn limit(&self) -> Bytes {
        let others = self.device.in_use().saturating_sub(self.reserved);
        self.device.limit().saturating_sub(others)
    }

    fn reserved(&self) -> Bytes {
        self.reserved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::Offset;

    fn start(region: RegionId) -> Address {
        Address { region, offset: Offset::START }
    }

    #[test]
    fn regions_are_separate_memory_and_share_the_limit() {
        let device = Device::host(Bytes::mib(4));
        let mut regions = HostRegions::new(&device);
        let arena = device.arena("somebody else", Bytes::mib(1), None).unwrap();
        assert_eq!((regions.limit(), regions.reserved()), (Bytes::mib(3), Bytes::ZERO));
        let [first, second] = [1, 2].map(|mib| regions.reserve(Bytes::mib(mib)).unwrap());
        assert_ne!(first, second);
        assert_eq!(regions.reserve(Bytes(1)), None);
        regions.bytes_mut(start(first), Bytes::mib(1)).fill(1);
        regions.bytes_mut(start(second), Bytes::mib(2)).fill(2);
        assert!(regions.bytes(start(first), Bytes::mib(1)).iter().all(|byte| *byte == 1));
        drop(arena);
        assert_eq!((regions.limit(), device.in_use()), (Bytes::mib(4), Bytes::mib(3)));
        regions.release(first);
        assert_eq!((regions.changes(), regions.list().collect()), (3, vec![(second, Bytes::mib(2))]));
        let third = regions.reserve(Bytes::mib(2)).unwrap();
        assert!(third != first && third != second, "names are not used again");
        drop(regions);
        assert_eq!(device.in_use(), Bytes::ZERO);
    }

    #[test]
    fn pointers_lead_to_the_same_bytes() {
        let mut regions = HostRegions::new(&Device::host(Bytes::mib(1)));
        let region = regions.reserve(Bytes(4096)).unwrap();
        let at = |offset| Address { region, offset: Offset(offset) };
        assert_eq!(regions.bytes(at(1000), Bytes(8)).as_ptr(), regions.pointer(at(1000)).cast_const());
        assert_eq!(regions.pointer(at(1000)).addr() - regions.pointer(at(0)).addr(), 1000);
        assert!(regions.pointer(at(0)).addr().is_multiple_of(4096));
    }

    #[test]
    #[should_panic(expected = "beyond")]
    fn a_range_beyond_its_region_is_refused() {
        let mut regions = HostRegions::new(&Device::host(Bytes::mib(1)));
        let region = regions.reserve(Bytes(4096)).unwrap();
        regions.bytes(Address { region, offset: Offset(4000) }, Bytes(97));
    }

    #[test]
    #[should_panic(expected = "reserved")]
    fn a_released_region_is_gone() {
        let mut regions = HostRegions::new(&Device::host(Bytes::mib(1)));
        let region = regions.reserve(Bytes(4096)).unwrap();
        regions.release(region);
        regions.pointer(start(region));
    }
}
