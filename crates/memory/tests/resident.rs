//! What is given back is gone from the process, as the operating system counts. One test alone in its process, so that
//! no other test's memory is counted.

#![cfg(target_os = "linux")]

use plimsoll_memory::process::resident;
use plimsoll_memory::{Address, Growth, Host, HostRegions, PhysicalDevice, Regions};
use plimsoll_trace::{Bytes, Offset};

/// What differs for other reasons: the heap, the test's own threads.
const NOISE: Bytes = Bytes::mib(4);

fn near(found: Bytes, wanted: Bytes, when: &str) {
    let error = found.saturating_sub(wanted).max(wanted.saturating_sub(found));
    assert!(error <= NOISE, "{when}: {found} resident, not {wanted}");
}

#[test]
fn memory_that_is_not_in_use_goes_back_to_the_system() {
    let host = PhysicalDevice::new(Host::of(Bytes::mib(256)));
    let before = resident().unwrap();
    let now = |wanted: Bytes, when: &str| near(resident().unwrap(), before + wanted, when);

    let growing = host.logical("growing", Bytes::mib(64), Growth::On).unwrap();
    let mut arena = growing.arena("arena", Bytes::mib(32), None).unwrap().into_host().unwrap();
    now(Bytes::ZERO, "nothing was touched");
    arena.bytes_mut(Offset::START, Bytes::mib(32)).fill(1);
    let mut regions = HostRegions::new(&growing);
    let region = regions.reserve(Bytes::mib(16)).unwrap();
    regions.bytes_mut(Address { region, offset: Offset::START }, Bytes::mib(16)).fill(1);
    now(Bytes::mib(48), "an arena and a region");
    drop(arena);
    now(Bytes::mib(16), "the region alone");
    regions.release(region);
    now(Bytes::ZERO, "nothing is left");

    let whole = host.logical("whole", Bytes::mib(64), Growth::Off).unwrap();
    now(Bytes::mib(64), "reserved at once");
    let mut kept = whole.arena("kept", Bytes::mib(8), None).unwrap().into_host().unwrap();
    let dropped = whole.arena("dropped", Bytes::mib(24), None).unwrap();
    kept.bytes_mut(Offset::START, Bytes::mib(8)).fill(5);
    drop(dropped);
    now(Bytes::mib(64), "dropping keeps the reserve");
    assert_eq!(whole.release(), Bytes::mib(56));
    assert_eq!((whole.reserved(), whole.in_use()), (Bytes::mib(8), Bytes::mib(8)));
    now(Bytes::mib(8), "released around what is in use");
    assert!(kept.bytes(Offset::START, Bytes::mib(8)).iter().all(|byte| *byte == 5));

    let mut again = whole.arena("again", Bytes::mib(40), None).unwrap().into_host().unwrap();
    again.bytes_mut(Offset::START, Bytes::mib(40)).fill(6);
    now(Bytes::mib(48), "taken again after a release");
    drop((kept, again));
    assert_eq!(whole.release(), Bytes::mib(48));
    now(Bytes::ZERO, "all of it");
    let back = whole.arena("back", Bytes::mib(1), None).unwrap();
    assert_eq!(whole.reserved(), Bytes::mib(64));
    now(Bytes::mib(64), "reserved at once again");
    drop((back, whole));
    now(Bytes::ZERO, "the device is gone");
}
