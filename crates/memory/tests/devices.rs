//! Logical devices as somebody outside uses them: limits that hold, growth on and off, changes while in use.

use plimsoll_memory::{
    Address, Device, DeviceError, FreeBlocks, Growth, Host, HostRegions, PhysicalDevice, Regions,
    Reservation, Statistics,
};
use plimsoll_trace::{Bytes, Offset};

fn device(mib: u64, growth: Growth) -> Device {
    host(64).logical("host", Bytes::mib(mib), growth).unwrap()
}

fn host(mib: u64) -> PhysicalDevice {
    PhysicalDevice::new(Host::of(Bytes::mib(mib)))
}

fn holder(who: &str, mib: u64) -> Reservation {
    Reservation { who: who.to_string(), bytes: Bytes::mib(mib) }
}

#[test]
fn the_limit_holds_and_memory_comes_back() {
    for growth in [Growth::On, Growth::Off] {
        let device = device(4, growth);
        let first = device.arena("first", Bytes::mib(3), None).unwrap();
        let refused = device.arena("second", Bytes::mib(2), None).unwrap_err();
        assert_eq!((refused.free(), refused.requested), (Bytes::mib(1), Bytes::mib(2)));
        assert_eq!(refused.holders, [holder("first", 3)]);
        assert!(refused.hint().contains("1.00 MiB"), "{}", refused.hint());
        drop(first);
        assert_eq!(device.in_use(), Bytes::ZERO);
        device.arena("second", Bytes::mib(2), None).unwrap();
    }
}

#[test]
fn who_holds_what_is_told_apart_at_equal_sizes() {
    let device = device(4, Growth::On);
    let [_a, b, _c] = ["a", "b", "c"].map(|who| device.arena(who, Bytes::mib(1), None).unwrap());
    drop(b);
    assert_eq!(device.holders(), [holder("a", 1), holder("c", 1)]);
}

#[test]
fn absurd_requests_are_refused() {
    let device = Device::host(Bytes(u64::MAX));
    let refused = device.arena("greedy", Bytes(1 << 60), None).unwrap_err();
    assert!(refused.system.is_some());
    let refused = Device::host(Bytes::mib(1)).arena("greedy", Bytes(u64::MAX), None).unwrap_err();
    assert_eq!((refused.system.is_none(), refused.requested), (true, Bytes(u64::MAX)));
}

#[test]
fn growth_decides_what_is_reserved_and_the_limit_holds_either_way() {
    let [growing, whole] = [Growth::On, Growth::Off].map(|growth| device(8, growth));
    assert_eq!([growing.reserved(), whole.reserved()], [Bytes::ZERO, Bytes::mib(8)]);
    let arenas = [&growing, &whole].map(|device| device.arena("a", Bytes::mib(3), None).unwrap());
    assert_eq!([growing.reserved(), whole.reserved()], [Bytes::mib(3), Bytes::mib(8)]);
    assert_eq!([growing.in_use(), whole.in_use()], [Bytes::mib(3); 2]);
    for device in [&growing, &whole] {
        assert!(device.arena("b", Bytes::mib(6), None).is_err());
    }
    drop(arenas);
    assert_eq!([growing.reserved(), whole.reserved()], [Bytes::ZERO, Bytes::mib(8)]);
}

#[test]
fn an_arena_in_pages_is_one_holder_and_counts_its_bytes_once() {
    for growth in [Growth::On, Growth::Off] {
        let device = device(1, growth);
        let arena = device.arena("in pages", Bytes(1 << 20), Some(Bytes(768))).unwrap();
        assert_eq!((arena.pages(), arena.capacity()), (1366, Bytes::mib(1)));
        assert_eq!(device.holders(), [holder("in pages", 1)]);
        assert!(device.arena("more", Bytes(1), None).is_err());
        drop(arena);
        assert_eq!((device.in_use(), device.figures().largest_free), (Bytes::ZERO, Bytes::mib(1)));
    }
}

#[test]
fn pieces_of_one_region_do_not_overlap_and_start_as_zeros() {
    let device = device(4, Growth::Off);
    let mut regions = HostRegions::new(&device);
    let mut arena = device.arena("arena", Bytes::mib(1), None).unwrap().into_host().unwrap();
    arena.bytes_mut(Offset::START, Bytes::mib(1)).fill(1);
    let region = regions.reserve(Bytes::mib(2)).unwrap();
    let address = Address { region, offset: Offset::START };
    regions.bytes_mut(address, Bytes::mib(2)).fill(2);
    assert!(arena.bytes(Offset::START, Bytes::mib(1)).iter().all(|byte| *byte == 1));
    drop(arena);
    let again = device.arena("again", Bytes::mib(1), None).unwrap().into_host().unwrap();
    assert!(again.bytes(Offset::START, Bytes::mib(1)).iter().all(|byte| *byte == 0));
    assert!(regions.bytes(address, Bytes::mib(2)).iter().all(|byte| *byte == 2));
}

#[test]
fn memory_that_is_free_in_pieces_is_refused_with_the_largest_piece() {
    let device = device(4, Growth::Off);
    let [a, _b, c, _d] = ["a", "b", "c", "d"].map(|who| device.arena(who, Bytes::mib(1), None).unwrap());
    drop((a, c));
    let figures = device.figures();
    assert_eq!((figures.largest_free, figures.fragmentation()), (Bytes::mib(1), 0.5));
    let refused = device.arena("e", Bytes::mib(2), None).unwrap_err();
    assert_eq!((refused.free(), refused.largest_free()), (Bytes::mib(2), Some(Bytes::mib(1))));
    assert!(refused.hint().contains("in pieces"), "{}", refused.hint());
}

#[test]
fn an_allocators_refusal_carries_its_blocks() {
    let device = device(4, Growth::On);
    let mut regions = HostRegions::named(&device, "eager");
    regions.reserve(Bytes::mib(4)).unwrap();
    let statistics = Statistics {
        in_use: Bytes::mib(1),
        reserved: Bytes::mib(4),
        largest_free: Bytes::mib(2),
        ..Statistics::default()
    };
    let refused = device.out_of_memory("conv", Bytes::mib(3), Some(&statistics));
    assert_eq!(refused.blocks.as_deref(), Some(&FreeBlocks { free: Bytes::mib(3), largest: Bytes::mib(2) }));
    assert_eq!(
        (refused.holders.clone(), refused.fragmentation()),
        (vec![holder("eager", 4)], Some(1.0 / 3.0))
    );
    assert_eq!(device.out_of_memory("conv", Bytes::mib(3), None).fragmentation(), None);
}

#[test]
fn a_device_in_use_can_be_resized() {
    for growth in [Growth::On, Growth::Off] {
        let host = host(16);
        let other = host.logical("other", Bytes::mib(4), Growth::On).unwrap();
        let device = host.logical("mine", Bytes::mib(4), growth).unwrap();
        let mut arena = device.arena("weights", Bytes::mib(3), None).unwrap().into_host().unwrap();
        arena.bytes_mut(Offset::START, Bytes::mib(3)).fill(9);
        device.resize(Bytes::mib(12)).unwrap();
        assert_eq!((device.limit(), host.unassigned()), (Bytes::mib(12), Bytes::ZERO));
        let more = device.arena("more", Bytes::mib(8), None).unwrap();

        let refused = device.resize(Bytes::mib(13)).unwrap_err();
        let DeviceError::TooMuch { shares, wanted, .. } = &refused else { panic!("{refused}") };
        assert_eq!((shares.len(), shares[0].name.as_str(), wanted.limit), (1, "other", Bytes::mib(13)));
        let refused = device.resize(Bytes::mib(10)).unwrap_err();
        let DeviceError::Held { in_use, holders, .. } = &refused else { panic!("{refused}") };
        assert_eq!((*in_use, &holders[..]), (Bytes::mib(11), &[holder("weights", 3), holder("more", 8)][..]));
        assert!(refused.hint().unwrap().contains("weights (3.00 MiB), more (8.00 MiB)"));
        assert_eq!(device.limit(), Bytes::mib(12), "a refusal changes nothing");

        drop(more);
        device.resize(Bytes::mib(3)).unwrap();
        assert_eq!((device.reserved(), host.unassigned()), (Bytes::mib(3), Bytes::mib(9)));
        assert!(device.arena("more", Bytes(1), None).is_err());
        assert!(arena.bytes(Offset::START, Bytes::mib(3)).iter().all(|byte| *byte == 9));
        assert_eq!(device.resize(Bytes::ZERO), Err(DeviceError::Empty { name: "mine".to_string() }));
        drop(other);
        device.resize(Bytes::mib(16)).unwrap();
    }
}

#[test]
fn after_a_shrink_no_more_than_the_limit_stays_reserved() {
    let device = device(8, Growth::Off);
    let keep = device.arena("keep", Bytes::mib(1), None).unwrap();
    device.resize(Bytes::mib(3)).unwrap();
    for mib in [2, 1, 2] {
        let arena = device.arena("short", Bytes::mib(mib), None).unwrap();
        assert!(device.reserved() <= device.limit(), "{:?}", device.figures());
        drop(arena);
    }
    drop(keep);
    device.resize(Bytes::mib(5)).unwrap();
    assert_eq!(device.figures().largest_free, Bytes::mib(5), "one region again");
}

#[test]
fn more_than_the_machine_has_is_not_reserved_at_once() {
    let host = PhysicalDevice::new(Host::of(Bytes(1 << 50)));
    let refused = host.logical("whole", Bytes(1 << 50), Growth::Off).unwrap_err();
    let DeviceError::OutOfMemory(evidence) = &refused else { panic!("{refused}") };
    assert!(evidence.system.is_some());
    assert_eq!(host.unassigned(), Bytes(1 << 50), "its share is free again");
}
