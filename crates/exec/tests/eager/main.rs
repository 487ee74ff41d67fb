//! Eager execution: the same bits as the planned run, out of memory with evidence, fragmentation and its three cures.

mod fragmentation;
mod shortage;
mod twin;

use plimsoll_trace::{Bytes, summarize};
use twin::{bfc, bits, eager, eager_step, executor, planned, planned_step, training};

#[test]
fn eager_steps_are_planned_steps_bit_for_bit() {
    let cases = [
        ("mlp@20", 8, "adam"),
        ("cnn@8,channels=1", 4, "momentum"),
        ("resnet20@8", 3, "sgd"),
        ("unet@8", 2, "adam"),
        ("lstm@9,vocab=50", 3, "rmsprop"),
        ("bilstm@5,vocab=50", 2, "nesterov"),
        ("transformer@7,vocab=50,width=16,ff=32,heads=2,layers=2", 3, "adamw"),
        ("mobilenet_v2@32", 2, "sgd"),
    ];
    for (spec, batch, optimizer) in cases {
        for growth in [true, false] {
            compare(spec, batch, optimizer, growth);
        }
    }
}

fn compare(spec: &str, batch: usize, optimizer: &str, growth: bool) {
    let training = training(spec, batch, optimizer);
    let graph = &training.graph;
    let (mut planned, plan) = executor(&training, planned(&training));
    let (mut eager, program) = eager(&training, Bytes::mib(256), bfc(growth)).unwrap();
    for step in 1..=3 {
        let wanted = planned_step(&mut planned, plan, &training, step);
        let found = eager_step(&mut eager, program, &training, step).unwrap();
        assert_eq!(found.to_bits(), wanted.to_bits(), "{spec}: the loss of step {step}");
        for id in graph.persistents() {
            let (found, wanted) = (eager.f32(program, id), planned.read_f32(plan, id));
            assert_eq!(bits(found), bits(&wanted), "{spec}: `{}` after step {step}", graph.value(id).name);
        }
    }
    let trace = eager.recording();
    plimsoll_trace::verify(trace).unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert_eq!(summarize(trace).floor, eager.statistics().peak_in_use, "{spec}: the trace adds up");
    eager.release();
    assert_eq!(eager.statistics().blocks as usize, graph.persistents().count(), "{spec}: only weights stay");
}
