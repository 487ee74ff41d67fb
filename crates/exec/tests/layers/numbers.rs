//! The numbers that the script and the test agree on.

/// So many numbers in [-1, 1) that belong to a name.
pub fn units(name: &str, count: usize) -> Vec<f64> {
    let seed = seed(name);
    (0..count as u64).map(|i| (hash(seed, i) >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0).collect()
}

/// FNV-1a of a name.
pub fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// SplitMix64 of the two numbers.
pub fn hash(seed: u64, index: u64) -> u64 {
    let mut z =
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
