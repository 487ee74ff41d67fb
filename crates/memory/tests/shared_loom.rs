//! Every order in which threads can use a [`Shared`] allocator, tried one after the other by loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p plimsoll-memory --test shared_loom --release --target-dir target/loom`
//!
//! Loom's clock never runs out: a wake-up that is lost, which a real wait would only make late, is a deadlock here.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::thread;
use plimsoll_memory::{BestFit, Block, Shared, Simulated};
use plimsoll_trace::{Bytes, LabelId};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What the allocator's blocks are multiples of.
const GRANULE: u64 = 64;
/// What there is.
const GRANULES: u64 = 2;
const NOBODY: u32 = 0;

#[test]
fn live_blocks_do_not_overlap_and_statistics_add_up() {
    // Counted over all orders: a model in which nobody is ever refused, or always, would show nothing.
    let (refused, unrefused) = (counter(), counter());
    let counts = (refused.clone(), unrefused.clone());
    loom::model(move || {
        let memory = Memory::new();
        let other = memory.clone();
        let whole = thread::spawn(move || u64::from(other.use_once(1, GRANULES)));
        let halves = u64::from(memory.use_once(2, 1)) + u64::from(memory.use_once(3, 1));
        let takes = halves + whole.join().unwrap();
        memory.check_nothing_is_live(takes);
        let count = if takes < 3 { &counts.0 } else { &counts.1 };
        count.fetch_add(1, Relaxed);
    });
    assert!(refused.load(Relaxed) > 0 && unrefused.load(Relaxed) > 0, "{refused:?} {unrefused:?}");
}

#[test]
fn who_waits_is_woken_by_the_free_that_helps() {
    loom::model(|| {
        let memory = Memory::new();
        let [first, second] = [1, 2].map(|owner| memory.take(owner, 1).unwrap());
        let waiting = memory.clone().patient();
        // It needs both halves, so the first free wakes it in vain.
        let waiting = thread::spawn(move || waiting.use_once(3, GRANULES));
        memory.free(1, first);
        memory.free(2, second);
        assert!(waiting.join().unwrap());
        memory.check_nothing_is_live(3);
    });
}

#[test]
fn one_free_wakes_all_whom_it_helps() {
    loom::model(|| {
        let memory = Memory::new();
        let all = memory.take(1, GRANULES).unwrap();
        let waiting = [2, 3].map(|owner| {
            let memory = memory.clone().patient();
            // They keep their halves: no later free may wake the other.
            thread::spawn(move || (owner, memory.take(owner, 1).unwrap()))
        });
        memory.free(1, all);
        for waiting in waiting {
            let (owner, block) = waiting.join().unwrap();
            memory.free(owner, block);
        }
        memory.check_nothing_is_live(3);
    });
}

/// An allocator, and who owns each granule according to the threads themselves.
///
/// Reads and writes of owners are relaxed, as those of the bytes themselves are: only the allocator's lock orders them.
#[derive(Clone)]
struct Memory {
    shared: Shared<BestFit, Simulated>,
    owners: Arc<[AtomicU32; GRANULES as usize]>,
}

impl Memory {
    fn new() -> Self {
        let regions = Simulated::new(Bytes(GRANULES * GRANULE));
        let owners = Arc::new([NOBODY; GRANULES as usize].map(AtomicU32::new));
        Self { shared: Shared::new(BestFit::default(), regions), owners }
    }

    fn patient(self) -> Self {
        Self { shared: self.shared.with_patience(Duration::MAX), ..self }
    }

    /// Takes and frees a block; whether there was one.
    fn use_once(&self, owner: u32, granules: u64) -> bool {
        let block = self.take(owner, granules);
        block.inspect(|block| self.free(owner, *block)).is_some()
    }

    fn take(&self, owner: u32, granules: u64) -> Option<Block> {
        let block = self.shared.take(Bytes(granules * GRANULE), LabelId(owner)).ok()?;
        assert_eq!(block.bytes, Bytes(granules * GRANULE));
        self.pass(block, NOBODY, owner);
        Some(block)
    }

    fn free(&self, owner: u32, block: Block) {
        self.pass(block, owner, NOBODY);
        self.shared.free(block.address).unwrap();
    }

    /// Gives every granule of a block from one owner to another.
    fn pass(&self, block: Block, from: u32, to: u32) {
        let first = block.address.offset.0 / GRANULE;
        for granule in first..first + block.bytes.0 / GRANULE {
            let owner = &self.owners[granule as usize];
            assert_eq!(owner.load(Relaxed), from, "granule {granule} on its way to {to}");
            owner.store(to, Relaxed);
        }
    }

    fn check_nothing_is_live(&self, takes: u64) {
        let statistics = self.shared.statistics();
        assert_eq!((statistics.in_use, statistics.blocks, statistics.takes), (Bytes::ZERO, 0, takes));
        assert!(statistics.peak_in_use <= Bytes(GRANULES * GRANULE));
        assert!(self.shared.live().is_empty());
    }
}

/// A counter that loom does not see.
fn counter() -> std::sync::Arc<AtomicU64> {
    std::sync::Arc::default()
}
