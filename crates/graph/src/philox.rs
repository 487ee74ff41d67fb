//! Philox4x32-10, a counter-based random number generator: number `i` of a stream is a function of the seed, the stream
//! and `i` alone, so it can be computed again at any time, in any order, by any thread.
//!
//! J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];

/// What the key grows by each round: the golden ratio and `sqrt(3) - 1`.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The four random words of a counter under a key.
#[inline]
pub fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let product0 = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let product1 = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (product1 >> 32) as u32 ^ counter[1] ^ key[0],
            product1 as u32,
            (product0 >> 32) as u32 ^ counter[3] ^ key[1],
            product0 as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// The words `4 number` to `4 number + 3` of a stream.
#[inline]
pub fn block(seed: u64, stream: u64, number: u64) -> [u32; 4] {
    philox4x32(
        [number as u32, (number >> 32) as u32, stream as u32, (stream >> 32) as u32],
        [seed as u32, (seed >> 32) as u32],
    )
}

/// A word as a number in `[0, 1)`.
#[inline]
pub fn unit(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / (1 << 24) as f32)
}

/// Two words as a number of the standard normal distribution, by the method of Box and Muller.
#[inline]
pub fn normal(first: u32, second: u32) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    let radius = (f64::from(first) + 1.0) / (1u64 << 32) as f64;
    let angle = f64::from(second) / (1u64 << 32) as f64;
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// A stream read from its start.
#[derive(Clone, Debug)]
pub struct Philox {
    seed: u64,
    stream: u64,
    /// How many words have been read.
    position: u64,
    /// The block that the next word is in, unless that is the block's first.
    words: [u32; 4],
}

impl Philox {
    /// The stream of that number; streams of one seed do not overlap.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { seed, stream, position: 0, words: [0; 4] }
    }

    /// The next word.
    pub fn next_u32(&mut self) -> u32 {
        let lane = (self.position % 4) as usize;
        if lane == 0 {
            self.words = block(self.seed, self.stream, self.position / 4);
        }
        self.position += 1;
        self.words[lane]
    }

    /// A number in `[0, 1)`, from one word.
    pub fn next_unit(&mut self) -> f32 {
        unit(self.next_u32())
    }

    /// A number of the standard normal distribution, from two words by the method of Box and Muller.
    pub fn next_normal(&mut self) -> f32 {
        let words = [self.next_u32(), self.next_u32()];
        normal(words[0], words[1]) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Random123's `kat_vectors` for philox4x32 with 10 rounds.
    #[test]
    fn known_answers() {
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, wanted) in cases {
            assert_eq!(philox4x32(counter, key), wanted);
        }
    }

    #[test]
    fn a_stream_is_its_blocks_in_order() {
        let mut stream = Philox::new(7, 3);
        let words: Vec<u32> = (0..12).map(|_| stream.next_u32()).collect();
        let blocks: Vec<u32> = (0..3).flat_map(|number| block(7, 3, number)).collect();
        assert_eq!(words, blocks);
        assert_ne!(words[0], Philox::new(7, 4).next_u32());
        assert_ne!(words[0], Philox::new(8, 3).next_u32());
    }

    #[test]
    fn units_lie_in_the_unit_interval() {
        assert_eq!(unit(0), 0.0);
        assert!(unit(u32::MAX) < 1.0);
        let mut stream = Philox::new(1, 0);
        let mean = (0..100_000).map(|_| f64::from(stream.next_unit())).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 5e-3, "{mean}");
    }

    #[test]
    fn normals_have_the_moments_of_the_normal_distribution() {
        let mut stream = Philox::new(1, 0);
        let numbers: Vec<f64> = (0..100_000).map(|_| f64::from(stream.next_normal())).collect();
        let moment = |power| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / 1e5;
        for (power, wanted, tolerance) in [(1, 0.0, 0.015), (2, 1.0, 0.02), (3, 0.0, 0.05), (4, 3.0, 0.15)] {
            assert!((moment(power) - wanted).abs() < tolerance, "moment {power}: {}", moment(power));
        }
    }
}
