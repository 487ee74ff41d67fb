//! Free chunks by size, then by address: what best fit searches.
//!
//! TensorFlow keeps 21 bins, each sorted by (size, address), and searches them upwards from the request's bin. Bins are ranges of sizes, so that is
//! the first chunk that is large enough in one order over all of them.

use std::collections::BTreeSet;

/// A free chunk in its place in the order: bytes, address, index.
pub(super) type Key = (u64, u64, u32);

/// Free chunks in order.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSet {
    keys: BTreeSet<Key>,
}

impl FreeSet {
    pub(super) fn insert(&mut self, key: Key) {
        self.keys.insert(key);
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.keys.remove(&key);
    }

    /// From the smallest chunk of at least so many bytes upwards.
    pub(super) fn from(&self, bytes: u64) -> impl Iterator<Item = Key> + '_ {
        self.keys.range((bytes, 0, 0)..).copied()
    }

    /// Below so many bytes, from the largest downwards.
    pub(super) fn below(&self, bytes: u64) -> impl Iterator<Item = Key> + '_ {
        self.keys.range(..(bytes, 0, 0)).rev().copied()
    }

    /// The bytes of the largest.
    pub(super) fn largest(&self) -> u64 {
        self.keys.last().map_or(0, |key| key.0)
    }
}
