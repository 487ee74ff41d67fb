//! What holds for every allocator, whatever is asked of it.

use super::{
    ALLOCATOR_NAMES, Address, Allocator, AllocatorOptions, BfcOptions, Block, RegionId, Regions, Simulated,
    TorchOptions, by_name,
};
use plimsoll_trace::{Bytes, LabelId, Offset};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A request: bytes to take, or which of the live blocks to free.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u64),
    Free(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![
        4 => 0u64..5_000,
        3 => 0u64..3 << 20,
        2 => 0u64..30 << 20,
        1 => prop_oneof![Just(u64::MAX), Just(u64::MAX - 300), Just(1 << 52), Just(200 << 20)],
    ];
    let step = prop_oneof![3 => bytes.prop_map(Step::Take), 2 => any::<usize>().prop_map(Step::Free)];
    proptest::collection::vec(step, 0..120)
}

fn limits() -> impl Strategy<Value = Bytes> {
    prop_oneof![Just(0), Just(1), Just(1000), 0u64..4 << 20, 0u64..200 << 20, Just(1 << 40), Just(u64::MAX)]
        .prop_map(Bytes)
}

fn options() -> impl Strategy<Value = AllocatorOptions> {
    let bfc = any::<(bool, bool)>().prop_map(|(growth, release)| BfcOptions {
        growth,
        release,
        ..BfcOptions::default()
    });
    let torch =
        (prop::option::of(20u64..64), prop::option::of(0.0f64..1.0)).prop_map(|(max_split, threshold)| {
            TorchOptions {
                max_split: max_split.map(Bytes::mib),
                garbage_collection_threshold: threshold,
                ..TorchOptions::default()
            }
        });
    (bfc, torch).prop_map(|(bfc, torch)| AllocatorOptions { bfc, torch })
}

/// What the test itself knows of an allocator.
#[derive(Default)]
struct Book {
    live: BTreeMap<Address, (Bytes, Bytes, LabelId)>,
    floor: u64,
    peak: u64,
}

impl Book {
    fn take(&mut self, block: Block, requested: Bytes, label: LabelId) {
        assert!(block.bytes >= requested && block.bytes.0 > 0);
        assert!(self.live.insert(block.address, (block.bytes, requested, label)).is_none());
        let sum = |part: fn(&(Bytes, Bytes, LabelId)) -> u64| self.live.values().map(part).sum();
        self.peak = self.peak.max(sum(|block| block.0.0));
        self.floor = self.floor.max(sum(|block| block.1.0));
    }

    /// Recounts everything an allocator says about itself.
    fn compare(&self, allocator: &dyn Allocator, regions: &dyn Regions) {
        let mut blocks: Vec<(Address, Bytes, Option<LabelId>)> =
            allocator.blocks().map(|(block, label)| (block.address, block.bytes, label)).collect();
        blocks.sort_unstable_by_key(|block| block.0);
        for pair in blocks.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            let apart = first.0.region != second.0.region || first.0.offset + first.1 <= second.0.offset;
            assert!(apart, "{first:?} and {second:?} overlap");
            let touch = first.0.region == second.0.region && first.0.offset + first.1 == second.0.offset;
            assert!(
                !touch || first.2.is_some() || second.2.is_some(),
                "{first:?} and {second:?} are not joined"
            );
        }
        let live = blocks.iter().filter_map(|&(address, bytes, label)| Some((address, (bytes, label?))));
        assert!(live.eq(self.live.iter().map(|(&address, &(bytes, _, label))| (address, (bytes, label)))));

        let statistics = allocator.statistics();
        let free = || blocks.iter().filter(|block| block.2.is_none()).map(|block| block.1);
        let in_use: Bytes = self.live.values().map(|block| block.0).sum();
        assert_eq!(statistics.in_use, in_use);
        assert_eq!(statistics.reserved, regions.reserved());
        assert_eq!(in_use + free().sum(), regions.reserved(), "blocks and free space are the regions");
        assert_eq!(statistics.largest_free, free().max().unwrap_or_default());
        assert_eq!(statistics.blocks, self.live.len() as u64);
        assert_eq!(statistics.peak_in_use.0, self.peak);
        assert!(self.floor <= self.peak && statistics.peak_in_use <= statistics.peak_reserved);
        assert!(regions.reserved() <= regions.limit());
        assert!((0.0..=1.0).contains(&statistics.fragmentation()));
    }
}

fn check(allocator: &mut dyn Allocator, regions: &mut dyn Regions, steps: &[Step]) {
    let mut book = Book::default();
    for (number, &step) in steps.iter().enumerate() {
        match step {
            Step::Take(bytes) => {
                let label = LabelId(number as u32);
                if let Ok(block) = allocator.take(Bytes(bytes), label, regions) {
                    book.take(block, Bytes(bytes), label);
                }
            }
            Step::Free(which) if !book.live.is_empty() => {
                let address = *book.live.keys().nth(which % book.live.len()).unwrap();
                book.live.remove(&address);
                allocator.free(address, regions).unwrap();
                assert_eq!(allocator.free(address, regions).unwrap_err().address, address, "a second free");
            }
            Step::Free(which) => {
                let address = Address { region: RegionId(which as u32), offset: Offset(which as u64) };
                assert!(allocator.free(address, regions).is_err(), "a free of nothing");
            }
        }
        book.compare(allocator, regions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn equations_hold(steps in steps(), limit in limits(), options in options()) {
        for name in ALLOCATOR_NAMES {
            check(&mut *by_name(name, &options).unwrap(), &mut Simulated::new(limit), &steps);
            check(&mut *by_name(name, &options).unwrap(), &mut Simulated::in_one_piece(limit), &steps);
        }
    }
}

#[test]
fn nothing_is_given_where_the_limit_is_zero() {
    for name in ALLOCATOR_NAMES {
        let mut allocator = by_name(name, &AllocatorOptions::default()).unwrap();
        let mut regions = Simulated::new(Bytes::ZERO);
        for bytes in [0, 1, 1 << 30, u64::MAX] {
            let refusal = allocator.take(Bytes(bytes), LabelId(0), &mut regions).unwrap_err();
            assert_eq!((refusal.requested, refusal.largest_free), (Bytes(bytes), Bytes::ZERO), "{name}");
        }
    }
}

#[test]
fn no_limit_is_too_large() {
    for name in ALLOCATOR_NAMES {
        let mut allocator = by_name(name, &AllocatorOptions::default()).unwrap();
        let mut regions = Simulated::new(Bytes(u64::MAX));
        assert!(allocator.take(Bytes(1 << 40), LabelId(0), &mut regions).is_ok(), "{name}");
    }
}

#[test]
fn an_empty_request_gets_a_block_of_its_own() {
    for name in ALLOCATOR_NAMES {
        let mut allocator = by_name(name, &AllocatorOptions::default()).unwrap();
        let mut regions = Simulated::new(Bytes::mib(64));
        let blocks =
            [0, 0].map(|bytes| allocator.take(Bytes(bytes), LabelId(0), &mut regions).unwrap().address);
        assert_ne!(blocks[0], blocks[1], "{name}");
        for address in blocks {
            allocator.free(address, &mut regions).unwrap();
        }
    }
}
