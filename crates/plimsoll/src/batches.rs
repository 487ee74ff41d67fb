//! Which samples make up each batch.
//!
//! Every epoch is a new shuffle of all samples. Batches run on across the end of an epoch, so all have the same size (a plan is for
//! one size) and no sample is left out.

use plimsoll_exec::philox::Philox;

/// An endless sequence of sample numbers.
pub(crate) struct Batches {
    order: Vec<usize>,
    next: usize,
    random: Philox,
}

impl Batches {
    /// Shuffles `count` samples.
    pub(crate) fn new(count: usize, seed: u64) -> Self {
        const STREAM: u64 = u64::MAX;
        Self { order: (0..count).collect(), next: count, random: Philox::new(seed, STREAM) }
    }

    /// The next sample.
    pub(crate) fn next_sample(&mut self) -> usize {
        if self.next == self.order.len() {
            self.shuffle();
            self.next = 0;
        }
        self.next += 1;
        self.order[self.next - 1]
    }

    /// Fisher and Yates.
    fn shuffle(&mut self) {
        for last in (1..self.order.len()).rev() {
            let other = (u64::from(self.random.next_u32()) * (last as u64 + 1)) >> 32;
            self.order.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_has_every_sample_once_in_another_order() {
        let mut batches = Batches::new(100, 7);
        let mut epoch = || (0..100).map(|_| batches.next_sample()).collect::<Vec<_>>();
        let (first, second) = (epoch(), epoch());
        assert_ne!(first, second);
        for mut seen in [first, second] {
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..100));
        }
    }
}
