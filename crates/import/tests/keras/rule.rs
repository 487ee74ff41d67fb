//! The rule of `make_keras.py` for weights and inputs.

/// The contents of a weight, by its path in Keras's files and its name in its layer; kernels are multiplied by the
/// gain.
#[allow(dead_code)] // files have weights of their own
pub fn weights(path: &str, name: &str, shape: &[usize], gain: f64) -> Vec<f32> {
    let count: usize = shape.iter().product();
    let fan = match *shape {
        [rows, columns, _, 1] => rows * columns,
        [.., last] if shape.len() > 1 => count / last,
        _ => 1,
    };
    let (centre, scale) = match name {
        "gamma" | "scale" => (1.0, 0.2),
        "beta" => (0.0, 0.2),
        "moving_mean" | "mean" => (0.0, 0.1),
        "moving_variance" | "variance" => (1.0, 0.3),
        "embeddings" => (0.0, 1.0),
        "alpha" => (0.2, 0.1),
        _ if shape.len() > 1 && !name.contains("bias") => (0.0, gain * (3.0 / fan as f64).sqrt()),
        _ => (0.0, 0.1),
    };
    units(path, count).map(|unit| (centre + scale * unit) as f32).collect()
}

/// So many numbers in [-1, 1) that belong to a name.
pub fn units(name: &str, count: usize) -> impl Iterator<Item = f64> + use<> {
    let seed = seed(name);
    (0..count as u64).map(move |i| (hash(seed, i) >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0)
}

/// So many ids below 5 that belong to a name.
pub fn ids(name: &str, count: usize) -> impl Iterator<Item = i32> + use<> {
    let seed = seed(name);
    (0..count as u64).map(move |i| (hash(seed, i) % 5) as i32)
}

/// So many classes below 10 that belong to a name.
#[allow(dead_code)] // only training has classes
pub fn classes(name: &str, count: usize) -> impl Iterator<Item = i32> + use<> {
    let seed = seed(name);
    (0..count as u64).map(move |i| (hash(seed, i) % 10) as i32)
}

/// FNV-1a of a name.
fn seed(name: &str) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// SplitMix64 of the two numbers.
fn hash(seed: u64, index: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_mul(GOLDEN).wrapping_add(index).wrapping_mul(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
