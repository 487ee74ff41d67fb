//! TensorFlow's profiles: what a real one gives, that its own sums come out again, and that damaged ones are errors and
//! never panics.

use plimsoll_import::{recording, xplane};
use plimsoll_trace::{Bytes, Event, What, summarize, verify};
use std::path::Path;

fn profile() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles");
    std::fs::read(folder.join("cnn_small_b32_adam.xplane.pb")).unwrap()
}

#[test]
fn every_event_is_read_and_adds_up_to_what_the_allocator_says() {
    let read = xplane::read(&profile()[..]).unwrap();
    let [(name, events)] = &read.allocators[..] else { panic!("one allocator") };
    assert_eq!(name, "bfc_cpu_allocator_for_gpu");
    assert_eq!(events.iter().filter(|event| event.is_free).count(), 100);
    assert_eq!(events.len(), 200);
    let mut in_use = events[0].in_use;
    for event in &events[1..] {
        in_use = if event.is_free { in_use - event.given } else { in_use + event.given };
        assert_eq!(in_use, event.in_use, "after {event:?}");
    }
    assert_eq!(
        events.iter().map(|event| event.in_use).max(),
        Some(42_234_624),
        "TensorFlow's peak_bytes_in_use"
    );
}

#[test]
fn a_profile_is_a_recording() {
    let recording = recording::read(&profile()[..]).unwrap();
    let trace = &recording.trace;
    verify(trace).unwrap();
    let notes = ["the profile begins in the middle: 1.71 MiB were live throughout, it does not say where"];
    assert_eq!(recording.all_notes(), notes);
    let highest = xplane::read(&profile()[..]).unwrap().allocators[0].1.clone();
    let lowest = highest.iter().map(|event| event.address).min().unwrap();
    let end = highest.iter().map(|event| event.address + event.requested).max().unwrap() - lowest;
    assert_eq!(summarize(trace).peak, Bytes(end), "what nobody knows the place of adds nothing to the span");
    assert_eq!(trace.about.limit, Some(Bytes(20_000 << 20)));
    assert_eq!(trace.about.reported_peak, Some(Bytes(42_234_624)), "TensorFlow's peak_bytes_in_use");
    assert_eq!(
        (trace.about.origin.as_str(), trace.about.allocator.as_str()),
        ("TensorFlow profile", "bfc_cpu_allocator_for_gpu")
    );
    let clocks = trace.marks.iter().filter(|mark| matches!(mark.what, What::Clock { .. })).count();
    assert!(clocks > 100, "{clocks} clocks");
    // As TensorFlow's own reader and a few lines of Python add it up. It is far below the peak, which counts chunks:
    // one of them has 13.2 MiB too much.
    assert_eq!(summarize(trace).floor, Bytes(28_020_508));
    let ops: Vec<&str> = trace.labels.iter().map(|label| label.op.as_str()).collect();
    assert!(ops.contains(&"gradient_tape/sequential_1/dense_1_2/MatMul/MatMul_1"), "{ops:?}");
    assert!(matches!(trace.events[0], Event::Take { .. }));
}

#[test]
fn what_is_no_profile_is_an_error() {
    for bytes in [&b"\n"[..], b"\n\x05abc", b"\n\0", b"\n\n\n", b"\x0a\x02\x08\x01"] {
        let message = recording::read(bytes).unwrap_err().to_string();
        assert!(
            message.contains("no trace") || message.contains("no profile") || message.contains("no protocol"),
            "{message}"
        );
    }
}

#[test]
fn damaged_profiles_are_errors_or_traces() {
    let whole = profile();
    for end in (0..whole.len()).step_by(97) {
        let _ = recording::read(&whole[..end]);
    }
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let mut read = 0;
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next() % 6 {
            let at = (next() >> 33) as usize % bytes.len();
            bytes[at] = (next() >> 32) as u8;
        }
        if let Ok(recording) = recording::read(&bytes[..]) {
            summarize(&recording.trace);
            read += 1;
        }
    }
    assert!(read > 100, "only {read} of the damaged profiles can be read");
}
