//! Out of memory on an eager device is a value with evidence, and the device stays usable.

use crate::twin::{bfc, eager, eager_step, training};
use plimsoll_exec::StepError;
use plimsoll_exec::eager::Shortage;
use plimsoll_trace::Bytes;

fn shortage(error: StepError) -> Shortage {
    match error {
        StepError::OutOfMemory(shortage) => *shortage,
        other => panic!("{other}"),
    }
}

#[test]
fn the_evidence_names_who_asked_and_who_holds_what() {
    let training = training("cnn@32,channels=3", 64, "adam");
    let (mut device, program) = eager(&training, Bytes::mib(12), bfc(false)).unwrap();
    let found = shortage(eager_step(&mut device, program, &training, 1).unwrap_err());
    assert_eq!((found.device.as_str(), found.allocator, found.limit), ("host", "bfc", Bytes::mib(12)));
    assert!(!found.label.op.is_empty() && !found.label.layer.is_empty(), "{:?}", found.label);
    assert!(!found.is_fragmentation() && found.requested > found.free(), "{found}");
    assert_eq!(found.holders.iter().map(|(_, bytes)| *bytes).sum::<Bytes>(), found.in_use);
    assert!(found.holders.is_sorted_by(|(_, a), (_, b)| a >= b), "largest first");
    let (largest, others, rest) = found.largest(3);
    assert_eq!(largest.len(), 3);
    assert_eq!(largest.iter().map(|(_, bytes)| *bytes).sum::<Bytes>() + rest, found.in_use);
    assert_eq!(others, found.holders.len() - 3);
    let text = found.to_string();
    for piece in ["host is out of memory", &found.label.op, &found.label.layer, "12.0 MiB", "free"] {
        assert!(text.contains(piece), "no `{piece}` in {text}");
    }
    assert!(found.hint().contains("smaller batch"), "{}", found.hint());
}

#[test]
fn a_failed_step_takes_nothing_and_changes_nothing() {
    let large = training("cnn@32,channels=3", 64, "adam");
    let small = training("cnn@32,channels=3", 8, "adam");
    let (mut device, program) = eager(&large, Bytes::mib(12), bfc(false)).unwrap();
    let other = device.load(small.graph.clone(), &[small.loss]).unwrap();
    let weights = |device: &plimsoll_exec::Eager| {
        large.graph.persistents().flat_map(|id| device.f32(program, id).to_vec()).collect::<Vec<f32>>()
    };
    let (before, in_use) = (weights(&device), device.statistics().in_use);
    for _ in 0..3 {
        shortage(eager_step(&mut device, program, &large, 1).unwrap_err());
        assert_eq!(device.statistics().in_use, in_use, "everything the step took is back");
        assert_eq!(weights(&device), before);
        assert!(eager_step(&mut device, other, &small, 1).unwrap().is_finite());
        device.release();
        for id in large.graph.persistents() {
            let index = large.graph.persistents().position(|other| other == id).unwrap();
            let start: usize =
                large.graph.persistents().take(index).map(|id| large.graph.tensor(id).shape.elements()).sum();
            let weights = device.f32_mut(program, id);
            weights.copy_from_slice(&before[start..][..weights.len()]);
        }
    }
    plimsoll_trace::verify(device.recording()).unwrap();
}

#[test]
fn weights_that_do_not_fit_are_refused_when_they_are_loaded() {
    let training = training("cnn@32,channels=3", 1, "adam");
    let found = shortage(eager(&training, Bytes(300 << 10), bfc(true)).err().expect("it is too small"));
    assert!(found.label.op.is_empty() && !found.label.value.is_empty());
    assert!(found.to_string().contains(&format!("`{}`", found.label.value)), "{found}");
}
