//! A step that fails although enough is free, what the evidence says about it, and three cures.

use crate::twin::{bfc, bits, eager, eager_step, planned, training};
use plimsoll_exec::{Eager, ProgramId, StepError};
use plimsoll_trace::Bytes;
use plimsoll_train::TrainingGraph;

const LIMIT: Bytes = Bytes::mib(16);

/// A model on short and on long sequences. The short ones make TensorFlow's allocator reserve small regions, which it never
/// joins or gives back; the long ones then find enough free bytes, but no piece that is large enough.
fn graphs() -> [TrainingGraph; 2] {
    [8, 256].map(|length| training(&format!("lstm@{length},vocab=100"), 8, "sgd"))
}

/// Runs short steps, then loads the long ones.
fn after_short_steps(growth: bool) -> (Eager, [ProgramId; 2], [TrainingGraph; 2]) {
    let graphs = graphs();
    let (mut device, short) = eager(&graphs[0], LIMIT, bfc(growth)).unwrap();
    for step in 1..=3 {
        eager_step(&mut device, short, &graphs[0], step).unwrap();
    }
    let long = device.load(graphs[1].graph.clone(), &[graphs[1].loss]).unwrap();
    (device, [short, long], graphs)
}

#[test]
fn memory_in_pieces_is_recognised_as_such() {
    let (mut device, [_, long], graphs) = after_short_steps(true);
    let Err(StepError::OutOfMemory(found)) = eager_step(&mut device, long, &graphs[1], 1) else {
        panic!("the long step must not fit: {:?}", device.statistics());
    };
    assert!(found.free() > found.requested && found.requested > found.largest_free, "{found:?}");
    assert!(found.is_fragmentation());
    for piece in ["are free, but the largest piece has only", "lstm"] {
        assert!(found.to_string().contains(piece), "{found}");
    }
    for cure in ["one region", "together", "planned"] {
        assert!(found.hint().contains(cure), "{}", found.hint());
    }
}

#[test]
fn compaction_cures_it() {
    let (mut device, [short, long], graphs) = after_short_steps(true);
    eager_step(&mut device, long, &graphs[1], 1).unwrap_err();
    let weights = |device: &Eager| {
        let all = graphs[0].graph.persistents();
        all.map(|id| bits(device.f32(short, id))).collect::<Vec<_>>()
    };
    let before = weights(&device);
    let done = device.compact().unwrap().expect("there is place for the weights");
    assert_eq!(weights(&device), before, "contents move along");
    assert!(done.reserved_after < done.reserved_before, "{done:?}");
    assert_eq!(done.blocks, graphs[0].graph.persistents().count());
    plimsoll_trace::verify(device.recording()).unwrap();
    eager_step(&mut device, long, &graphs[1], 1).unwrap();
}

#[test]
fn one_region_cures_it() {
    let (mut device, [_, long], graphs) = after_short_steps(false);
    eager_step(&mut device, long, &graphs[1], 1).unwrap();
}

#[test]
fn a_planned_layout_cures_it() {
    let peak = graphs().map(|graph| planned(&graph).plan().peak).into_iter().max().unwrap();
    assert!(peak <= LIMIT, "{peak}");
}

/// Many small graphs before the compaction, outputs of the last one still wanted after it.
#[test]
fn compaction_keeps_outputs_and_is_harmless_twice() {
    let (mut device, [short, _], graphs) = after_short_steps(true);
    let loss = eager_step(&mut device, short, &graphs[0], 4).unwrap();
    for _ in 0..2 {
        device.compact().unwrap().unwrap();
        assert_eq!(device.f32(short, graphs[0].loss)[0].to_bits(), loss.to_bits());
    }
    eager_step(&mut device, short, &graphs[0], 5).unwrap();
}
