//! Recordings of every kind, damaged: errors or traces, never panics, and the beginning of a file that was cut.

use plimsoll_import::recording;
use plimsoll_trace::{Trace, file, summarize, text};
use std::path::Path;

/// Numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// A real trace: three steps of TensorFlow.
fn trace() -> Trace {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    recording::read(std::fs::File::open(folder.join("mlp_tfdoc_0_32_sgd.txt.gz")).unwrap()).unwrap().trace
}

fn binary(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(trace, &mut bytes).unwrap();
    bytes
}

#[test]
fn both_of_our_forms_are_the_same_recording() {
    let trace = trace();
    assert!(trace.events.len() > 300);
    for bytes in [binary(&trace), text::print(&trace).into_bytes()] {
        let read = recording::read(&bytes[..]).unwrap();
        assert_eq!((read.trace, read.cut), (trace.clone(), false));
    }
}

#[test]
fn a_file_cut_anywhere_is_its_beginning() {
    let trace = trace();
    let whole = binary(&trace);
    let mut events = 0;
    for end in file::HEADER.len()..whole.len() {
        let read = recording::read(&whole[..end]).unwrap();
        assert!(read.cut && trace.events.starts_with(&read.trace.events), "cut at {end}");
        assert!(read.trace.events.len() >= events && read.all_notes().len() == 1);
        events = read.trace.events.len();
    }
    assert_eq!(events, trace.events.len());
}

#[test]
fn damaged_recordings_are_errors_or_traces() {
    let trace = trace();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/snapshot.protocol4.pickle");
    let seeds = [binary(&trace), text::print(&trace).into_bytes(), std::fs::read(folder).unwrap()];
    let mut random = Random(11);
    let mut read = [0; 3];
    for round in 0..6000 {
        let kind = round % 3;
        let mut bytes = seeds[kind].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, random.below(256) as u8),
                _ => bytes[at] = random.below(256) as u8,
            }
        }
        if let Ok(recording) = recording::read(&bytes[..]) {
            let printed = text::print(&recording.trace);
            assert_eq!(text::parse(&printed).as_ref(), Ok(&recording.trace));
            read[kind] += usize::from(recording.trace.events.len() < 1 << 20);
        }
    }
    assert!(read.iter().all(|count| *count > 20), "{read:?} could be read");
    summarize(&trace);
}
