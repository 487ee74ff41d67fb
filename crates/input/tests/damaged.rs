//! Files with random damage: they are read or refused, within the account, and nothing breaks down or hangs.

use plimsoll_graph::philox::Philox;
use plimsoll_graph::{ElementType, Shape, TensorType};
use plimsoll_input::{
    Account, Column, Content, FieldKind, InputError, OnBadSample, PixelRange, Pixels, Prefetched, Reading,
    Samples, Settings, Tokens, Want, open,
};
use plimsoll_trace::Bytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What input may take; no golden file needs as much.
const MEMORY: Bytes = Bytes::mib(8);

/// How many damaged copies of each file are read.
const SHORT: u64 = 40;
const LONG: u64 = 400;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn damage_is_survived() {
    survive_all(SHORT);
}

#[test]
#[ignore = "some minutes"]
fn much_damage_is_survived() {
    survive_all(LONG);
}

fn survive_all(rounds: u64) {
    let pictures =
        ["images/a/baseline.jpg", "images/a/progressive.jpg", "images/c/deep.png", "images/b/turn6.jpg"];
    for name in pictures {
        survive(name, "a/image", rounds);
    }
    for name in ["stored.npz", "packed.npz", "pictures.tfrecord", "records/numbers-0.tfrecord"] {
        survive(name, name.rsplit('/').next().unwrap(), rounds);
    }
    for name in ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"] {
        survive(&format!("idx/{name}"), name, rounds);
    }
    survive("texts/good/03.txt", "good/03.txt", rounds);
    survive("table.csv", "table.csv", rounds);
}

/// Damages one file in many ways, and reads the data that it is a part of.
fn survive(name: &str, called: &str, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let end = name.rsplit('.').next().unwrap();
    let path = match called {
        "a/image" => folder.path().join(format!("a/image.{end}")),
        _ => folder.path().join(called),
    };
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if called.ends_with(".gz") {
        for entry in fs::read_dir(golden("idx")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    let whole = match name {
        "table.csv" => {
            b"size,\"a \"\"name\"\"\",class\r\n1.5,\"x,y\",big\r\n-2e3,z,small\r\n,w,big\r\n".to_vec()
        }
        _ => fs::read(golden(name)).unwrap(),
    };
    let mut random = Philox::new(11, name.len() as u64);
    let mut read = 0;
    for round in 0..rounds {
        let bytes = if round == 0 { whole.clone() } else { damaged(&whole, &mut random) };
        fs::write(&path, &bytes).unwrap();
        let account = Account::new(MEMORY);
        let target = if path.parent() == Some(folder.path()) { path.as_path() } else { folder.path() };
        read += usize::from(read_all(target, round, &account).is_ok());
        assert!(account.peak() <= MEMORY, "{name}, round {round}");
        assert_eq!(account.in_use(), Bytes::ZERO, "{name}, round {round}");
    }
    assert!(read > 0, "{name} is never read, not even whole");
}

fn damaged(whole: &[u8], random: &mut Philox) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let mut below = |limit: usize| (random.next_unit() * limit as f32) as usize;
    for _ in 0..1 + below(4) {
        let at = below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match below(5) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8).min(7),
            1 if !bytes.is_empty() => bytes[at] = [0, 0xff, 0x7f, 0x80][below(4).min(3)],
            2 => bytes.truncate(at),
            3 => bytes.insert(at, below(256) as u8),
            _ => {
                let end = (at + below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

fn read_all(path: &Path, round: u64, account: &Arc<Account>) -> Result<(), InputError> {
    let on_bad_sample = if round.is_multiple_of(2) { OnBadSample::Stop } else { OnBadSample::Skip };
    let tokens = if round.is_multiple_of(3) { Tokens::Bytes } else { Tokens::Words };
    let settings = Settings { on_bad_sample, tokens, ..Settings::default() };
    let found = open(path, &settings, account)?;
    let wants: Vec<Want> = found.train.columns().iter().filter_map(want).collect();
    let reading = Reading::new(found.train.clone(), &wants, &settings, &Pixels::new(PixelRange::Unit))?;
    let samples = Prefetched::new(Arc::new(reading), account, 1, 1)?;
    samples.announce(None, 0..samples.count() as u64);
    let mut result = Ok(());
    for sample in 0..samples.count() {
        let one = samples.ready(sample as u64, &[sample]);
        // A sample that cannot be read ends no others.
        result = result.and(one);
    }
    result
}

/// What a column can become without a model.
fn want(column: &Column) -> Option<Want> {
    let (element, shape) = match &column.content {
        Content::Images(_) => (ElementType::F32, Shape::new([9, 8, 3])),
        Content::Numbers(numbers) => (ElementType::F32, Shape::new(&numbers.shape[..])),
        Content::Tokens(_) => (ElementType::I32, Shape::new([16])),
        Content::Class(_) if column.role == Some(FieldKind::Target) => (ElementType::I32, Shape::scalar()),
        Content::Class(_) | Content::Text => return None,
    };
    let tensor = TensorType::new(element, shape);
    let kind = column.role.unwrap_or(FieldKind::Input);
    Some(Want { kind, name: column.name.clone(), tensor, below: usize::MAX, optional: false })
}
