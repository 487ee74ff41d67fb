//! Which samples make up each batch: a function of the seed and the number of samples drawn before, and of nothing
//! else, so that a run that goes on in the middle of an epoch replays nothing and remembers nothing.
//!
//! Every epoch is a new shuffle of all samples. Batches run on across the end of an epoch, so all have the same size (a
//! plan is for one size) and no sample is left out.
//!
//! Method: the shuffle is a Feistel network over the next larger power of four, walked until it is back among the
//! samples (J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, sections 4 and 5). A walk takes
//! less than four turns in the mean.

use plimsoll_graph::philox::philox4x32;

/// Rounds of the network; from four on it cannot be told from a random one by those who only look (M. Luby, C.
/// Rackoff, 1988), and few samples need some more.
const ROUNDS: u32 = 8;

/// The sample that is drawn after `position` others.
///
/// # Panics
/// If there are no samples.
pub fn sample(seed: u64, position: u64, count: usize) -> usize {
    let count = count as u64;
    shuffled(seed, position / count, position % count, count) as usize
}

/// Where a shuffle puts `index`: over all indices below `count`, each of them once.
fn shuffled(seed: u64, epoch: u64, index: u64, count: u64) -> u64 {
    // Bits of one half.
    let half = (u64::BITS - (count - 1).leading_zeros()).div_ceil(2);
    let mut place = index;
    loop {
        place = scrambled(seed, epoch, place, half);
        if place < count {
            return place;
        }
    }
}

/// A permutation of the numbers of `2 half` bits.
fn scrambled(seed: u64, epoch: u64, number: u64, half: u32) -> u64 {
    let mask = (1u64 << half) - 1;
    let (mut left, mut right) = (number >> half, number & mask);
    for round in 0..ROUNDS {
        let word = philox4x32(
            [right as u32, round, epoch as u32, (epoch >> 32) as u32],
            [seed as u32, (seed >> 32) as u32],
        )[0];
        (left, right) = (right, left ^ (u64::from(word) & mask));
    }
    left << half | right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_has_every_sample_once_in_another_order() {
        for count in 1..=1000 {
            let epoch = |epoch: u64| -> Vec<usize> {
                (0..count as u64).map(|index| sample(7, epoch * count as u64 + index, count)).collect()
            };
            let (first, second) = (epoch(0), epoch(1));
            assert!(first != second || count < 10, "{count}");
            for mut seen in [first, second] {
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..count), "{count}");
            }
        }
    }

    #[test]
    fn huge_data_sets_need_no_memory() {
        for count in [(1 << 20) + 1, 1 << 40, (1 << 62) + 12345, u64::MAX] {
            let mut seen: Vec<u64> = (0..1000).map(|index| shuffled(3, 5, index, count)).collect();
            assert!(seen.iter().all(|&sample| sample < count));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 1000, "{count}");
        }
        let whole: std::collections::HashSet<usize> =
            (0..100_003).map(|position| sample(3, position, 100_003)).collect();
        assert_eq!(whole.len(), 100_003);
    }

    #[test]
    fn the_order_depends_on_the_seed_alone() {
        let drawn = |seed: u64| (0..50).map(|position| sample(seed, position, 100)).collect::<Vec<_>>();
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert_ne!(drawn(1), drawn(1 << 32));
    }

    /// Every sample comes at every place equally often, and after every other: chi-squared over many epochs.
    #[test]
    fn shuffles_are_fair() {
        const EPOCHS: u64 = 20_000;
        for count in [2usize, 3, 4, 5, 8, 10, 17] {
            let mut at = vec![0f64; count * count];
            let mut after = vec![0f64; count * count];
            for epoch in 0..EPOCHS {
                let drawn: Vec<usize> =
                    (0..count).map(|index| sample(11, epoch * count as u64 + index as u64, count)).collect();
                drawn.iter().enumerate().for_each(|(place, sample)| at[place * count + sample] += 1.0);
                drawn.windows(2).for_each(|pair| after[pair[0] * count + pair[1]] += 1.0);
            }
            let expected = EPOCHS as f64 / count as f64;
            let squares = at.iter().map(|seen| (seen - expected).powi(2) / expected).sum::<f64>();
            let freedom = ((count - 1) * (count - 1)) as f64;
            assert!(squares < freedom + 5.0 * (2.0 * freedom).sqrt(), "{count}: {squares} of {freedom}");
            let pairs: Vec<f64> =
                (0..count * count).filter(|i| i / count != i % count).map(|i| after[i]).collect();
            let freedom = pairs.len() as f64 - 1.0;
            let squares = pairs.iter().map(|seen| (seen - expected).powi(2) / expected).sum::<f64>();
            assert!(squares < freedom + 5.0 * (2.0 * freedom).sqrt(), "{count}: {squares} of {freedom}");
        }
    }
}
