//! Files of every format that the program reads, and what can happen to a file.

use super::random::Random;
use crate::program::root;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A good file, and the commands that read it.
pub(super) struct Source {
    name: String,
    bytes: Vec<u8>,
    commands: &'static [&'static str],
}

const MODEL: &[&str] = &[
    "inspect FILE --batch 2",
    "train FILE --data synthetic --batch 2 --steps 1 --memory 64MiB",
    "fit FILE --batch 2 --memory 64MiB -o out.plan.json",
    "inspect FILE --batch 2 --as tensorflow",
    "report FILE --batch 2 --text",
];
const PLAN: &[&str] = &[
    "train --plan FILE --data synthetic --steps 1",
    "report FILE --text",
    "export FILE --to tensorflow -o out.py",
];
const TRACE: &[&str] =
    &["report FILE --text", "report FILE -o out.html", "replay FILE", "export FILE --to csv -o out.csv"];
const LOG: &[&str] = &["diagnose FILE", "diagnose FILE --json", "diagnose FILE -o out.html", "replay FILE"];
const STATE: &[&str] =
    &["train mlp@6,classes=3 --data synthetic --batch 2 --steps 3 --memory 1MiB --from FILE"];
const PROBLEM: &[&str] = &["place FILE", "place FILE --capacity 1MiB --json", "place FILE --page-size 64KiB"];

/// Where the files stand in the repository, how their names end, and what reads them.
const FOLDERS: [(&str, &str, &[&str]); 9] = [
    ("crates/import/tests/keras/files", ".keras", MODEL),
    ("crates/import/tests/keras/files", ".h5", MODEL),
    ("crates/plimsoll/tests/heads", ".keras", MODEL),
    ("crates/cli/tests/corpus", ".plan.json", PLAN),
    ("crates/cli/tests/corpus", ".trace", TRACE),
    ("crates/cli/tests/corpus", ".safetensors", STATE),
    ("crates/import/tests/data", ".txt.gz", TRACE),
    ("crates/import/tests/dumps", ".stderr.gz", LOG),
    ("crates/import/tests/keras/families", "MobileNet.json.gz", MODEL),
];

/// Every file, as it is; compressed ones also unpacked, so that damage reaches what is inside.
pub(super) fn sources() -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for (folder, ending, commands) in FOLDERS {
        for path in files_in(&root().join(folder), ending)? {
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
            if let Some(plain) = name.strip_suffix(".gz") {
                let mut unpacked = Vec::new();
                let read = flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked);
                read.map_err(|error| format!("{}: {error}", path.display()))?;
                sources.push(Source { name: plain.to_owned(), bytes: unpacked, commands });
            }
            sources.push(Source { name, bytes, commands });
        }
    }
    let problem = (0..40).map(|i| format!("b{i},{},{},{}\n", i % 7, i % 7 + 1 + i % 5, 1 + i * 97 % 1000));
    let problem = format!("id,lower,upper,size\n{}", problem.collect::<String>()).into_bytes();
    sources.push(Source { name: "problem.csv".to_owned(), bytes: problem, commands: PROBLEM });
    Ok(sources)
}

/// Keeps the files of a case that failed.
pub(super) fn keep(folder: &Path, number: u64) {
    let kept = folder.join(format!("case-{number}"));
    let _ = fs::create_dir_all(&kept);
    for path in files_in(folder, "").unwrap_or_default() {
        let _ = path.file_name().map(|name| fs::copy(&path, kept.join(name)));
    }
}

impl Source {
    /// Writes a damaged copy and gives the arguments of a command that reads it.
    pub(super) fn damaged_in(&self, folder: &Path, random: &mut Random) -> Result<Vec<OsString>, String> {
        for old in files_in(folder, "")? {
            let _ = fs::remove_file(old);
        }
        let mut bytes = self.bytes.clone();
        for _ in 0..=random.below(4) {
            damage(&mut bytes, random);
        }
        fs::write(folder.join(&self.name), bytes).map_err(|error| error.to_string())?;
        let command = random.one_of(self.commands);
        Ok(command
            .split(' ')
            .map(|word| if word == "FILE" { self.name.as_str() } else { word }.into())
            .collect())
    }
}

/// One accident or attack.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [&[u8]; 12] = [
        b"0",
        b"-1",
        b"18446744073709551615",
        b"9223372036854775808",
        b"1e309",
        b"NaN",
        b"null",
        b"[[[[[[[[",
        b"{\"a\":{\"a\":{",
        b"\xff\xfe\x00",
        b"\x1b[2J",
        b"\"\n",
    ];
    if bytes.is_empty() {
        return bytes.push(random.next() as u8);
    }
    let at = random.below(bytes.len());
    let length = 1 + random.below(32).min(bytes.len() - at - 1);
    match random.below(9) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.next() as u8,
        3 => drop(bytes.drain(at..at + length)),
        4 => drop(bytes.splice(at..at, random.one_of(&WORDS).iter().copied())),
        5 => replace_number(bytes, at, random),
        6 => {
            let from = random.below(bytes.len() - length + 1);
            let to = at.min(bytes.len() - length);
            bytes.copy_within(from..from + length, to);
        }
        7 => bytes[at..at + length].fill(if random.below(2) == 0 { 0 } else { 0xff }),
        _ => {
            let copy: Vec<u8> = bytes[at..at + length].to_vec();
            let copies = 1 + random.below(200);
            drop(bytes.splice(at..at, copy.repeat(copies)));
        }
    }
}

/// Replaces the digits after a place by another number.
fn replace_number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    const NUMBERS: [&[u8]; 6] = [b"0", b"-7", b"4294967296", b"18446744073709551615", b"1e308", b"3"];
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else {
        return;
    };
    let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    drop(bytes.splice(start..end, random.one_of(&NUMBERS).iter().copied()));
}

fn files_in(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    paths.sort();
    Ok(paths)
}
