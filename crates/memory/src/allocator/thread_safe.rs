//! An allocator that many threads use at once.

use super::{Address, Allocator, Block, FreeError, Refusal, Regions, Statistics};
use plimsoll_trace::{Bytes, LabelId};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

// Loom tries every order of the threads. Its clock never runs out: a wait ends by a free alone.
#[cfg(loom)]
use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// An allocator with its regions behind a lock. Clones are the same allocator.
///
/// A request that cannot be met may wait for another thread's free, as in TensorFlow, which waits 10 seconds.
#[derive(Debug)]
pub struct Shared<A, R> {
    state: Arc<State<A, R>>,
    patience: Duration,
}

#[derive(Debug)]
struct State<A, R> {
    inside: Mutex<(A, R)>,
    freed: Condvar,
}

impl<A, R> Clone for Shared<A, R> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), patience: self.patience }
    }
}

impl<A: Allocator, R: Regions> Shared<A, R> {
    /// An allocator for all threads, which refuses at once what it cannot give.
    pub fn new(allocator: A, regions: R) -> Self {
        let state = State { inside: Mutex::new((allocator, regions)), freed: Condvar::new() };
        Self { state: Arc::new(state), patience: Duration::ZERO }
    }

    /// The same allocator, seen by somebody who waits so long for another thread's free.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// A block of at least so many bytes, or why there is none.
    pub fn take(&self, bytes: Bytes, label: LabelId) -> Result<Block, Refusal> {
        let begin = Instant::now();
        let mut inside = self.lock();
        loop {
            let (allocator, regions) = &mut *inside;
            let refusal = match allocator.take(bytes, label, regions) {
                Ok(block) => return Ok(block),
                Err(refusal) => refusal,
            };
            let left = self.patience.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Err(refusal);
            }
            let woken = self.state.freed.wait_timeout(inside, left);
            inside = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes back the block that begins at an address, and wakes those who wait.
    pub fn free(&self, address: Address) -> Result<(), FreeError> {
        let (allocator, regions) = &mut *self.lock();
        allocator.free(address, regions)?;
        self.state.freed.notify_all();
        Ok(())
    }

    /// How things stand.
    pub fn statistics(&self) -> Statistics {
        self.lock().0.statistics()
    }

    /// Live blocks and who they are for, as they are at this moment.
    pub fn live(&self) -> Vec<(Block, LabelId)> {
        let inside = self.lock();
        inside.0.blocks().filter_map(|(block, label)| Some((block, label?))).collect()
    }

    /// An allocator is sound between two calls even if a thread that held the lock ended in a panic elsewhere.
    fn lock(&self) -> MutexGuard<'_, (A, R)> {
        self.state.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Bfc, BfcOptions, Simulated};
    use std::collections::BTreeMap;

    fn shared(limit: Bytes) -> Shared<Bfc, Simulated> {
        Shared::new(Bfc::new(BfcOptions::default()), Simulated::new(limit))
    }

    #[test]
    fn threads_never_hold_the_same_bytes() {
        let shared = shared(Bytes::mib(4));
        // Who owns which bytes according to the threads themselves; a second owner is a bug.
        let owned: Mutex<BTreeMap<Address, u64>> = Mutex::default();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (shared, owned) = (shared.clone(), &owned);
                scope.spawn(move || work(thread, &shared, owned));
            }
        });
        let statistics = shared.statistics();
        assert_eq!((statistics.in_use, statistics.blocks), (Bytes::ZERO, 0));
        assert!(statistics.takes > 1000 && shared.live().is_empty());
    }

    fn work(thread: u64, shared: &Shared<Bfc, Simulated>, owned: &Mutex<BTreeMap<Address, u64>>) {
        let mut mine = Vec::new();
        for round in 0..1000u64 {
            let bytes = (round * 7919 + thread * 104_729) % 60_000;
            if let Ok(block) = shared.take(Bytes(bytes), LabelId(thread as u32)) {
                let mut owned = owned.lock().unwrap();
                let below = owned
                    .range(..=block.address)
                    .next_back()
                    .filter(|(at, _)| at.region == block.address.region);
                assert!(below.is_none_or(|(at, bytes)| at.offset.0 + bytes <= block.address.offset.0));
                owned.insert(block.address, block.bytes.0);
                mine.push(block.address);
            }
            if mine.len() > 20 {
                give(mine.swap_remove(round as usize % 20), shared, owned);
            }
        }
        mine.into_iter().for_each(|address| give(address, shared, owned));
    }

    fn give(address: Address, shared: &Shared<Bfc, Simulated>, owned: &Mutex<BTreeMap<Address, u64>>) {
        owned.lock().unwrap().remove(&address).unwrap();
        shared.free(address).unwrap();
    }

    #[test]
    fn patience_is_rewarded_and_bounded() {
        let impatient = shared(Bytes::mib(2));
        let patient = impatient.clone().with_patience(Duration::from_secs(60));
        let all = impatient.take(Bytes::mib(2), LabelId(0)).unwrap();
        assert!(impatient.take(Bytes(1), LabelId(1)).is_err());
        let briefly = impatient.clone().with_patience(Duration::from_millis(5));
        assert!(briefly.take(Bytes(1), LabelId(1)).is_err());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| patient.take(Bytes::mib(1), LabelId(2)));
            impatient.free(all.address).unwrap();
            assert!(waiting.join().unwrap().is_ok());
        });
        assert_eq!(impatient.live().iter().map(|(_, label)| label.0).collect::<Vec<_>>(), [2]);
    }
}
