//! States on disk: what is written is read back to the bit, files of others are read, and damaged ones are refused.

use plimsoll_graph::{ElementType, Role, TensorType};
use plimsoll_state::{CHUNK, Contents, State, StateError, Tensor, safetensors, verify};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

/// Enough for more than one chunk.
const ROWS: usize = 300;

fn tensor(name: &str, tensor: TensorType, role: Role) -> Tensor {
    Tensor { name: name.to_string(), tensor, role }
}

/// A state with every element type and role, in an order that is not that of alignment.
fn specimen(rows: usize) -> State {
    let tensors = vec![
        tensor("half \"quoted\"", TensorType::new(ElementType::F16, [3]), Role::Statistic),
        tensor("dense/kernel", TensorType::f32([rows, 1000]), Role::Parameter),
        tensor("nothing", TensorType::f32([0, 4]), Role::Parameter),
        tensor("brain", TensorType::new(ElementType::Bf16, [5]), Role::Parameter),
        tensor("count", TensorType::i32([]), Role::Statistic),
        tensor("adam/m/dense/kernel", TensorType::f32([rows, 1000]), Role::OptimizerState),
    ];
    let extras = [("loss_scale".to_string(), "1024".to_string())].into();
    let (model, seed) = ("größer".to_string(), u64::MAX);
    State { model, tensors, step: 20, updates: 19, epoch: 1, position: 640, seed, extras }
}

/// Bytes that follow from their place; remembers how many were asked for at once.
#[derive(Default)]
struct ByRule {
    largest: Cell<usize>,
}

fn rule(tensor: usize, offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9).wrapping_add(tensor as u64 * 77) >> 7) as u8
}

impl Contents for ByRule {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.largest.set(self.largest.get().max(into.len()));
        into.iter_mut().zip(offset..).for_each(|(byte, offset)| *byte = rule(tensor, offset));
        Ok(())
    }
}

fn written(folder: &Path, rows: usize) -> PathBuf {
    let path = folder.join("state.safetensors");
    safetensors::write(&path, &specimen(rows), &ByRule::default()).unwrap();
    path
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.safetensors");
    let contents = ByRule::default();
    safetensors::write(&path, &specimen(ROWS), &contents).unwrap();
    assert!(contents.largest.get() <= CHUNK);
    let (state, file) = safetensors::open(&path).unwrap();
    assert_eq!(state, specimen(ROWS));
    for (position, tensor) in state.tensors.iter().enumerate() {
        let mut bytes = vec![0; tensor.bytes().0 as usize];
        file.read(position, 0, &mut bytes).unwrap();
        assert!(
            bytes.iter().zip(0..).all(|(&byte, offset)| byte == rule(position, offset)),
            "{}",
            tensor.name
        );
        file.read(position, 1, &mut bytes).map(|()| assert!(bytes.is_empty())).unwrap_err();
    }
    file.read(99, 0, &mut []).unwrap_err();
    file.read(1, u64::MAX, &mut [0; 2]).unwrap_err();
}

#[test]
fn files_of_others_are_weights_alone() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/safetensors/weights.safetensors");
    let (state, file) = safetensors::open(&path).unwrap();
    assert_eq!((state.step, state.updates, state.model.as_str()), (0, 0, ""));
    let read = |name: &str| {
        let position = state.tensors.iter().position(|tensor| tensor.name == name).unwrap();
        let mut bytes = vec![0; state.tensors[position].bytes().0 as usize];
        file.read(position, 0, &mut bytes).unwrap();
        (state.tensors[position].tensor.to_string(), bytes)
    };
    let floats: Vec<u8> = (0..6).flat_map(|x| (x as f32).to_le_bytes()).collect();
    assert_eq!(read("dense/kernel"), ("f32[2,3]".to_string(), floats));
    assert_eq!(read("half"), ("f16[3]".to_string(), vec![0x00, 0x38, 0x00, 0xc0, 0xff, 0x7b]));
    assert_eq!(read("brain"), ("bf16[2]".to_string(), vec![0x80, 0x3f, 0x00, 0xc0]));
    assert_eq!(read("count"), ("i32[]".to_string(), (-7i32).to_le_bytes().to_vec()));
    assert_eq!(read("nothing"), ("f32[0,4]".to_string(), vec![]));
}

/// What a file of a header and so many bytes is refused with.
fn refusal(header: &str, bytes: usize) -> String {
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; bytes]].concat();
    refused(&file).unwrap_or_else(|| panic!("{header} was read"))
}

fn refused(file: &[u8]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile");
    std::fs::write(&path, file).unwrap();
    safetensors::open(&path).err().map(|error| error.to_string())
}

#[test]
fn hostile_headers_are_refused() {
    let entry = |name: &str, shape: &str, range: &str| {
        format!(r#""{name}":{{"dtype":"F32","shape":[{shape}],"data_offsets":[{range}]}}"#)
    };
    let header = |entries: &[String]| format!("{{{}}}", entries.join(","));
    let [a, b] = [entry("a", "2", "0,8"), entry("b", "1", "8,12")];
    assert_eq!(refused(b"\x02\0\0\0\0\0\0\0{}"), None);
    for (header, bytes, part) in [
        (header(&[a.clone(), entry("b", "1", "4,8")]), 8, "`b` overlaps"),
        (header(&[a.clone(), entry("b", "1", "12,16")]), 16, "`b` leaves a hole"),
        (header(&[entry("a", "1", "4,8")]), 8, "`a` leaves a hole"),
        (header(&[a.clone(), b.clone()]), 11, "it is cut"),
        (header(&[a.clone(), b.clone()]), 13, "but 13 are there"),
        (header(&[a.clone(), entry("a", "1", "8,12")]), 12, "two tensors `a`"),
        (header(&[entry("a", "2", "8,0")]), 8, "lies from 8 to 0"),
        (header(&[entry("a", "3", "0,8")]), 8, "has 12 bytes"),
        (header(&[entry("a", "4611686018427387905,4", "0,16")]), 16, "absurd shape"),
        (header(&[entry("a", "18446744073709551616", "0,8")]), 8, "not valid"),
        (header(&[entry("a", "-1", "0,8")]), 8, "not valid"),
        (header(&[entry("", "2", "0,8")]), 8, "is no name"),
        (header(&[a.replace("F32", "F8_E4M3")]), 8, "F8_E4M3"),
        (header(&[r#""__metadata__":{"a":"b","a":"c"}"#.to_string()]), 0, "twice"),
        (header(&[r#""__metadata__":{},"__metadata__":{}"#.to_string()]), 0, "duplicate"),
        (header(&[r#""__metadata__":{"plimsoll.format":"2"}"#.to_string()]), 0, "format 2"),
        (header(&[r#""__metadata__":{"plimsoll.format":"1"}"#.to_string()]), 0, "no plimsoll.roles"),
        (format!(" {}", header(&[a])), 8, "does not begin"),
        ("[".repeat(100_000), 0, "does not begin"),
        (format!("{{\"a\":{}", "[".repeat(100_000)), 0, "not valid"),
    ] {
        let found = refusal(&header, bytes);
        assert!(found.contains(part), "{found}");
    }
    assert!(refused(b"\x02\0\0").unwrap().contains("too few"));
    assert!(refused(b"\xff\xff\xff\xff\xff\xff\xff\x7f{}").unwrap().contains("no safetensors file"));
    assert!(refused(b"\x80\0\0\0\0\0\0\0{}").unwrap().contains("it is cut"));
    assert!(refused(b"\x04\0\0\0\0\0\0\0{\"\xff}").unwrap().contains("not valid"));
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * limit as u128) >> 64) as usize
    }
}

/// What is damaged is refused, or is still a state that holds, whose tensors can be read.
#[test]
fn ten_thousand_damaged_files_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(written(folder.path(), 1)).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let path = folder.path().join("damaged");
    let mut random = Random(1);
    let mut refused = 0;
    for _ in 0..10_000 {
        let mut file = whole.clone();
        for _ in 0..=random.below(3) {
            damage(&mut file, header, &mut random);
        }
        std::fs::write(&path, &file).unwrap();
        match safetensors::open(&path) {
            Err(StateError::Format { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
            Ok((state, contents)) => {
                verify(&state).unwrap();
                for (position, tensor) in state.tensors.iter().enumerate() {
                    let mut bytes = vec![0; (tensor.bytes().0 as usize).min(CHUNK)];
                    contents.read(position, 0, &mut bytes).unwrap();
                }
            }
        }
    }
    assert!(refused > 5_000, "{refused}");
}

fn damage(file: &mut Vec<u8>, header: usize, random: &mut Random) {
    let place = random.below(header.min(file.len()));
    match random.below(5) {
        0 => file[place] = random.below(256) as u8,
        1 => file[place] ^= 1 << random.below(8),
        2 => {
            file.remove(place);
        }
        3 => file.insert(place, b"{}[]\",:0123456789"[random.below(17)]),
        _ => {
            let length = random.below(20).min(file.len() - place);
            let piece = file[place..place + length].to_vec();
            let target = random.below(header.min(file.len()));
            file.splice(target..target, piece);
        }
    }
}

#[test]
fn what_cannot_be_read_leaves_the_old_file() {
    struct Broken;
    impl Contents for Broken {
        fn read(&self, tensor: usize, _: u64, into: &mut [u8]) -> io::Result<()> {
            into.fill(0);
            if tensor == 5 { Err(io::Error::other("the device is gone")) } else { Ok(()) }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), ROWS);
    let before = std::fs::read(&path).unwrap();
    let error = safetensors::write(&path, &specimen(ROWS), &Broken).unwrap_err().to_string();
    assert_eq!(error, "`adam/m/dense/kernel`: the device is gone");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let nowhere = folder.path().join("missing/state.safetensors");
    let error = safetensors::write(&nowhere, &specimen(ROWS), &ByRule::default()).unwrap_err().to_string();
    assert!(error.contains("no file can be made in"), "{error}");
}
