//! Free chunks by size, then by address: what best fit searches.
//!
//! TensorFlow keeps 21 bins, each sorted by (size, address), and searches them upwards from the request's bin. Bins are
//! ranges of sizes, so that is the first chunk that is large enough in one order over all of them. Here are more bins,
//! eight for each power of two, so that each holds few chunks; which of them hold any is kept in bits. A bin with few
//! chunks is a sorted list, which is fastest; with many it is a tree, which stays fast.

use std::collections::BTreeSet;

/// A free chunk in its place in the order: bytes, address, index.
pub(super) type Key = (u64, u64, u32);

const BINS: usize = 64 * 8;
/// A list with more chunks becomes a tree, and stays one until it is empty.
const FEW: usize = 64;

/// Free chunks in order.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSet {
    /// None before the first chunk.
    bins: Vec<Bin>,
    /// A bit for each bin that holds something.
    filled: [u64; BINS / 64],
}

#[derive(Clone, Debug)]
enum Bin {
    Few(Vec<Key>),
    Many(BTreeSet<Key>),
}

impl FreeSet {
    pub(super) fn insert(&mut self, key: Key) {
        if self.bins.is_empty() {
            self.bins = vec![Bin::Few(Vec::new()); BINS];
        }
        let at = bin_of(key.0);
        self.bins[at].insert(key);
        self.filled[at / 64] |= 1 << (at % 64);
    }

    pub(super) fn remove(&mut self, key: Key) {
        let at = bin_of(key.0);
        if self.bins[at].remove(key) {
            self.filled[at / 64] &= !(1 << (at % 64));
        }
    }

    /// The smallest chunk of at least so many bytes; the lowest of those.
    pub(super) fn at_least(&self, bytes: u64) -> Option<Key> {
        self.at_or_after((bytes, 0, 0))
    }

    /// From the smallest chunk of at least so many bytes upwards.
    pub(super) fn from(&self, bytes: u64) -> impl Iterator<Item = Key> + '_ {
        std::iter::successors(self.at_least(bytes), |key| self.at_or_after((key.0, key.1, key.2 + 1)))
    }

    /// Below so many bytes, from the largest downwards.
    pub(super) fn below(&self, bytes: u64) -> impl Iterator<Item = Key> + '_ {
        let bins = self.bins.get(..=bin_of(bytes)).unwrap_or_default();
        bins.iter().rev().flat_map(|bin| bin.keys().rev()).skip_while(move |key| key.0 >= bytes)
    }

    /// The bytes of the largest.
    pub(super) fn largest(&self) -> u64 {
        let word = self.filled.iter().rposition(|&word| word != 0);
        let last = word.map(|word| word * 64 + 63 - self.filled[word].leading_zeros() as usize);
        last.and_then(|at| self.bins[at].last()).map_or(0, |key| key.0)
    }

    fn at_or_after(&self, key: Key) -> Option<Key> {
        let at = bin_of(key.0);
        let here = self.bins.get(at)?.at_or_after(key);
        here.or_else(|| self.bins[self.next_filled(at + 1)?].first())
    }

    fn next_filled(&self, from: usize) -> Option<usize> {
        let first = *self.filled.get(from / 64)? & (u64::MAX << (from % 64));
        if first != 0 {
            return Some(from / 64 * 64 + first.trailing_zeros() as usize);
        }
        let word = (from / 64 + 1..self.filled.len()).find(|&word| self.filled[word] != 0)?;
        Some(word * 64 + self.filled[word].trailing_zeros() as usize)
    }
}

impl Bin {
    fn insert(&mut self, key: Key) {
        match self {
            Self::Few(list) if list.len() < FEW => {
                let at = list.partition_point(|other| *other < key);
                list.insert(at, key);
            }
            Self::Few(list) => *self = Self::Many(list.drain(..).chain([key]).collect()),
            Self::Many(tree) => drop(tree.insert(key)),
        }
    }

    /// Removes a chunk; gives whether the bin is empty then.
    fn remove(&mut self, key: Key) -> bool {
        match self {
            Self::Few(list) => {
                let at = list.partition_point(|other| *other < key);
                if list.get(at) == Some(&key) {
                    list.remove(at);
                }
                list.is_empty()
            }
            Self::Many(tree) => {
                tree.remove(&key);
                let empty = tree.is_empty();
                if empty {
                    *self = Self::Few(Vec::new());
                }
                empty
            }
        }
    }

    fn at_or_after(&self, key: Key) -> Option<Key> {
        match self {
            Self::Few(list) => list.get(list.partition_point(|other| *other < key)).copied(),
            Self::Many(tree) => tree.range(key..).next().copied(),
        }
    }

    fn first(&self) -> Option<Key> {
        match self {
            Self::Few(list) => list.first().copied(),
            Self::Many(tree) => tree.first().copied(),
        }
    }

    fn last(&self) -> Option<Key> {
        match self {
            Self::Few(list) => list.last().copied(),
            Self::Many(tree) => tree.last().copied(),
        }
    }

    fn keys(&self) -> impl DoubleEndedIterator<Item = Key> + '_ {
        let (few, many) = match self {
            Self::Few(list) => (&list[..], None),
            Self::Many(tree) => (&[][..], Some(tree)),
        };
        few.iter().chain(many.into_iter().flatten()).copied()
    }
}

/// The power of two below a size, and its next three bits.
fn bin_of(bytes: u64) -> usize {
    if bytes < 8 {
        return bytes as usize;
    }
    let power = 63 - bytes.leading_zeros() as usize;
    power * 8 + (bytes >> (power - 3)) as usize % 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_answer_like_one_tree(steps in proptest::collection::vec((any::<bool>(), 0u32..60, 0u64..40, 0u64..6), 1..900)) {
            let (mut set, mut tree) = (FreeSet::default(), BTreeSet::new());
            for (insert, shift, address, low) in steps {
                // Many addresses of few sizes, so that lists become trees and trees become lists again.
                let key = (((1u64 << (shift / 20 * 20)) + low).saturating_mul(64), address, 7);
                if insert { tree.insert(key); } else if tree.remove(&key) { set.remove(key); }
                if insert { set.remove_then_insert(key); }
                let bytes = key.0.saturating_sub(low);
                prop_assert_eq!(set.at_least(bytes), tree.range((bytes, 0, 0)..).next().copied());
                prop_assert_eq!(set.largest(), tree.last().map_or(0, |key| key.0));
            }
            let bytes = 64 << 20;
            prop_assert!(set.from(bytes).eq(tree.range((bytes, 0, 0)..).copied()));
            prop_assert!(set.below(bytes).eq(tree.range(..(bytes, 0, 0)).rev().copied()));
        }
    }

    impl FreeSet {
        fn remove_then_insert(&mut self, key: Key) {
            if !self.bins.is_empty() {
                self.remove(key);
            }
            self.insert(key);
        }
    }

    #[test]
    fn bins_grow_with_sizes() {
        let sizes = [0, 1, 7, 8, 9, 15, 16, 17, 18, 256, 287, 288, 1 << 40, u64::MAX];
        let bins = sizes.map(bin_of);
        assert!(
            bins.is_sorted() && bins[13] < BINS && bins[9] == bins[10] && bins[10] < bins[11],
            "{bins:?}"
        );
    }
}
