//! Memory that only its device can address: limits, growth, pages and zeros hold as on the host, and nobody gets an
//! address.

use plimsoll_memory::{Device, Growth, Hardware, Mapping, Memory, PhysicalDevice};
use plimsoll_trace::{Bytes, Offset};
use std::sync::Mutex;

/// A card with eight granules of memory, each mapping a vector of its own.
#[derive(Debug)]
struct Card;

#[derive(Debug)]
struct OnCard(Mutex<Vec<u8>>);

const GRANULE: u64 = 64 << 10;

impl Hardware for Card {
    fn name(&self) -> &str {
        "card"
    }

    fn kind(&self) -> &'static str {
        "card"
    }

    fn capacity(&self) -> Bytes {
        Bytes(8 * GRANULE)
    }

    fn available(&self) -> Bytes {
        self.capacity()
    }

    fn map(&self, bytes: Bytes) -> std::io::Result<Mapping> {
        Ok(Mapping::elsewhere(OnCard(Mutex::new(vec![0; bytes.as_usize()]))))
    }

    fn commit(&self, bytes: Bytes) -> std::io::Result<Mapping> {
        self.map(bytes)
    }
}

impl Memory for OnCard {
    fn bytes(&self) -> Bytes {
        Bytes(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self, from: Offset, into: &mut [u8]) {
        into.copy_from_slice(&self.0.lock().unwrap()[from.as_usize()..][..into.len()]);
    }

    fn write(&self, into: Offset, from: &[u8]) {
        self.0.lock().unwrap()[into.as_usize()..][..from.len()].copy_from_slice(from);
    }

    fn zero(&self, start: Offset, bytes: Bytes) {
        self.0.lock().unwrap()[start.as_usize()..][..bytes.as_usize()].fill(0);
    }

    fn discard(&self, start: Offset, bytes: Bytes) -> bool {
        self.zero(start, bytes);
        true
    }
}

fn card(growth: Growth) -> Device {
    PhysicalDevice::new(Card).logical("card", Bytes(8 * GRANULE), growth).unwrap()
}

#[test]
fn nobody_gets_an_address() {
    for growth in [Growth::On, Growth::Off] {
        let device = card(growth);
        assert!(!device.is_host());
        let arena = device.arena("a", Bytes(100), None).unwrap().into_host().unwrap_err();
        assert_eq!((arena.capacity(), device.in_use()), (Bytes(100), Bytes(100)));
    }
    assert!(Device::host(Bytes(1)).is_host());
}

#[test]
fn contents_cross_pages_and_memory_comes_back_as_zeros() {
    for growth in [Growth::On, Growth::Off] {
        let device = card(growth);
        let page = Some(Bytes(GRANULE + 256));
        let mut arena = device.arena("a", Bytes(8 * GRANULE), page).unwrap();
        assert_eq!(arena.pages(), 8);
        let bytes: Vec<u8> = (0..8 * GRANULE).map(|byte| (byte % 251) as u8).collect();
        arena.write(Offset::START, &bytes);
        arena.zero(Offset(GRANULE), Bytes(GRANULE));
        let mut found = vec![1; 3 * GRANULE as usize];
        arena.read(Offset(GRANULE), &mut found);
        let (zeros, kept) = found.split_at(GRANULE as usize);
        assert!(zeros.iter().all(|byte| *byte == 0));
        assert_eq!(kept, &bytes[2 * GRANULE as usize..][..kept.len()]);
        assert!(device.arena("b", Bytes(1), None).is_err());
        drop(arena);
        let again = device.arena("c", Bytes(8 * GRANULE), None).unwrap();
        again.read(Offset(GRANULE), &mut found);
        assert!(found.iter().all(|byte| *byte == 0), "growth {growth:?}");
    }
}

#[test]
fn what_is_not_in_use_is_released() {
    let device = card(Growth::Off);
    let mut kept = device.arena("kept", Bytes(GRANULE), None).unwrap();
    kept.write(Offset::START, &[7; 3]);
    assert_eq!(device.release(), Bytes(7 * GRANULE));
    assert_eq!(device.reserved(), Bytes(GRANULE));
    let mut found = [0; 4];
    kept.read(Offset::START, &mut found);
    assert_eq!(found, [7, 7, 7, 0]);
}
