//! Hashes of an integer's decimal digits, as TensorFlow's `to_hash_bucket_fast` and `to_hash_bucket_strong` compute
//! them: the 64-bit fingerprint of FarmHash, and SipHash-2-4 (Aumasson and Bernstein 2012) where there is a key.

use plimsoll_graph::op::Hash;

/// The longest int32 has so many characters.
const LONGEST: usize = 11;

/// The bucket of an integer.
pub(crate) fn bucket(hash: &Hash, integer: i32) -> i32 {
    let mut characters = [0; LONGEST];
    let text = digits(integer, &mut characters);
    let hashed = match hash.key {
        None => fingerprint(text),
        Some(key) => sip_hash(text, key),
    };
    (hashed % u64::from(hash.count)) as i32
}

/// The integer in decimal digits, at the end of the characters.
fn digits(integer: i32, characters: &mut [u8; LONGEST]) -> &[u8] {
    let (mut rest, mut start) = (integer.unsigned_abs(), LONGEST);
    loop {
        start -= 1;
        characters[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if integer < 0 {
        start -= 1;
        characters[start] = b'-';
    }
    &characters[start..]
}

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// `farmhashna::HashLen0to16` for 1 to 16 characters.
fn fingerprint(text: &[u8]) -> u64 {
    let length = text.len() as u64;
    let multiplier = K2.wrapping_add(length * 2);
    if text.len() >= 8 {
        let (a, b) = (fetch(&text[..8]).wrapping_add(K2), fetch(&text[text.len() - 8..]));
        let c = b.rotate_right(37).wrapping_mul(multiplier).wrapping_add(a);
        let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(multiplier);
        return mix(c, d, multiplier);
    }
    if text.len() >= 4 {
        let (a, b) = (fetch(&text[..4]), fetch(&text[text.len() - 4..]));
        return mix(length.wrapping_add(a << 3), b, multiplier);
    }
    let [first, middle, last] = [0, text.len() / 2, text.len() - 1].map(|at| u64::from(text[at]));
    let (y, z) = (first + (middle << 8), length + (last << 2));
    let mixed = y.wrapping_mul(K2) ^ z.wrapping_mul(K0);
    (mixed ^ (mixed >> 47)).wrapping_mul(K2)
}

/// Up to eight characters as a little-endian number.
fn fetch(text: &[u8]) -> u64 {
    text.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn mix(u: u64, v: u64, multiplier: u64) -> u64 {
    let a = (u ^ v).wrapping_mul(multiplier);
    let b = (v ^ (a ^ (a >> 47))).wrapping_mul(multiplier);
    (b ^ (b >> 47)).wrapping_mul(multiplier)
}

fn sip_hash(text: &[u8], [k0, k1]: [u64; 2]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let whole = text.len() / 8 * 8;
    let last = fetch(&text[whole..]) | (text.len() as u64) << 56;
    for word in text[..whole].chunks_exact(8).map(fetch).chain([last]) {
        v[3] ^= word;
        (0..2).for_each(|_| sip_round(&mut v));
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| sip_round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `tf.strings.to_hash_bucket_fast` and `to_hash_bucket_strong`.
    #[test]
    fn hashes_are_tensorflow_s() {
        let fast = Hash { count: 1_000_003, key: None };
        let strong = Hash { count: 1_000_003, key: Some([133, 137]) };
        for (integer, plain, keyed) in KNOWN {
            assert_eq!((bucket(&fast, integer), bucket(&strong, integer)), (plain, keyed), "{integer}");
        }
    }

    const KNOWN: [(i32, i32, i32); 11] = [
        (0, 537292, 876599),
        (7, 929154, 259924),
        (-1, 285648, 432051),
        (42, 59059, 431090),
        (123, 501751, 37539),
        (1234, 755216, 754843),
        (-99999, 901936, 912474),
        (1234567, 22860, 456820),
        (12345678, 470335, 100339),
        (i32::MIN, 345099, 54878),
        (2147483647, 745992, 127172),
    ];
}
