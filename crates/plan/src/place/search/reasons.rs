//! Why a bound holds: the levels of the search, that is the intervals that are placed, from which it follows.

/// A set of levels.
#[derive(Clone, Default)]
pub(super) struct Levels(Vec<u64>);

impl Levels {
    /// The empty set, with room for so many levels.
    pub(super) fn none(count: usize) -> Self {
        Self(vec![0; count / 64 + 1])
    }

    /// Makes it the empty set.
    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Makes it the set of all levels.
    pub(super) fn fill(&mut self) {
        self.0.fill(u64::MAX);
    }

    pub(super) fn contains(&self, level: usize) -> bool {
        self.0[level / 64] >> (level % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, level: usize) {
        self.0[level / 64] |= 1 << (level % 64);
    }

    pub(super) fn remove(&mut self, level: usize) {
        self.0[level / 64] &= !(1 << (level % 64));
    }

    /// Adds all levels of another set.
    pub(super) fn add(&mut self, other: &Levels) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}
