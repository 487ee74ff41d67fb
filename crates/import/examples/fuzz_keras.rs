//! Mutates Keras files for so many seconds and opens them: `cargo run --release -p plimsoll-import --example
//! fuzz_keras -- 600`.
//!
//! Nothing may panic, take more than a second, or hang. What is found is written to the current folder and said.

use plimsoll_import::keras;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest that opening a file of this size may take.
const LONGEST: Duration = Duration::from_secs(5);

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let seed = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(1);
    let (files, mut random) = (files(), Random(seed));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut opened, mut tried, mut findings) = (0u64, 0u64, 0u64);
    while Instant::now() < end {
        let bytes = mutated(&files, &mut random);
        let start = Instant::now();
        let outcome = std::panic::catch_unwind(|| open(bytes.clone()));
        let slow = start.elapsed() > LONGEST;
        tried += 1;
        opened += u64::from(matches!(outcome, Ok(true)));
        if outcome.is_err() || slow {
            findings += 1;
            let name = format!("finding_{seed}_{tried}.bin");
            println!("{name}: {}", if slow { "slow" } else { "a panic" });
            std::fs::write(&name, &bytes).expect("the current folder can be written to");
        }
    }
    println!("{tried} files in {seconds} s, of which {opened} opened whole; {findings} findings");
    std::process::exit(i32::from(findings > 0));
}

/// Opens a file, reads all its weights and lowers its model; says whether all of that went well.
fn open(bytes: Vec<u8>) -> bool {
    let Ok(keras) = keras::from_bytes(bytes, Some(8)) else { return false };
    let read = |position: usize| {
        let count: usize = keras.weights[position].shape.iter().product();
        // A model may be larger than this machine; reading goes to the caller's memory.
        count > 1 << 24 || keras.read_weight(position, &mut vec![0.0; count]).is_ok()
    };
    keras.check_weights().is_ok() && (0..keras.weights.len()).all(read)
}

fn files() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keras/files");
    let entries = std::fs::read_dir(&folder).expect("the golden files are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let mut files: Vec<Vec<u8>> =
        paths.iter().map(|path| std::fs::read(path).expect("it can be read")).collect();
    let configs: Vec<Vec<u8>> = files.iter().filter_map(|file| config(file)).collect();
    files.extend(configs);
    files
}

/// The configuration inside an archive, which gets mutations of its own: most of those to an archive only break a
/// checksum.
fn config(archive: &[u8]) -> Option<Vec<u8>> {
    let start = archive.windows(13).position(|window| window == br#"{"module": "k"#)?;
    let end = archive[start..].windows(4).position(|window| window == b"PK\x03\x04")?;
    Some(archive[start..start + end].to_vec())
}

fn mutated(files: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = files[random.below(files.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at.max(1)),
            3 => change_digit(&mut bytes, at, random),
            4 => {
                let other = &files[random.below(files.len())];
                let from = random.below(other.len());
                let length = random.below(64).min(other.len() - from).min(bytes.len() - at);
                bytes[at..at + length].copy_from_slice(&other[from..from + length]);
            }
            5 => {
                let length = random.below(32).min(bytes.len() - at);
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let length = random.below(32).min(bytes.len() - at - 1);
                bytes.drain(at..at + length);
            }
        }
    }
    bytes
}

/// Makes the next number larger or smaller, which keeps JSON whole.
fn change_digit(bytes: &mut [u8], at: usize, random: &mut Random) {
    if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
        *digit = b'0' + random.below(10) as u8;
    }
}

/// A small generator (Knuth's linear congruence), so that a run can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
