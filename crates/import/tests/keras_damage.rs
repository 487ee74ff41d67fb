//! Damaged Keras archives: one bit is another, anywhere. Such a file is refused, or everything in it is read as it was.

use plimsoll_import::keras;
use std::path::Path;

/// How many bits of each file are tried, beside all of its ends.
const TRIED: u64 = 3000;

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    for name in ["classifier.keras", "packed.keras", "sequence.keras"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keras/files").join(name);
        let sound = std::fs::read(path).unwrap();
        let meant = read(sound.clone()).expect("the file is sound");
        let (mut seed, mut refused) = (1u64, 0);
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % (8 * sound.len() as u64)
        };
        let tried: Vec<u64> = (0..TRIED).map(|_| random()).collect();
        for bit in &tried {
            let mut damaged = sound.clone();
            damaged[(bit / 8) as usize] ^= 1 << (bit % 8);
            match read(damaged) {
                None => refused += 1,
                Some(found) => assert!(found == meant, "{name}: bit {bit} changes what is read"),
            }
        }
        // What no checksum covers is some of the headers.
        assert!(refused * 10 > tried.len() * 8, "{name}: only {refused} of {} are refused", tried.len());
    }
}

/// Everything that a file says, as a run would use it; nothing if it is refused.
fn read(bytes: Vec<u8>) -> Option<(String, Vec<Vec<u32>>)> {
    let keras = keras::from_bytes(bytes, None).ok()?;
    keras.check_weights().ok()?;
    let mut weights = Vec::new();
    for at in 0..keras.weights.len() {
        let mut into = vec![0.0; keras.weights[at].shape.iter().product()];
        keras.read_weight(at, &mut into).ok()?;
        weights.push(into.into_iter().map(f32::to_bits).collect());
    }
    Some((format!("{:?} {:?} {:?}", keras.model, keras.compiled, keras.weights), weights))
}
