//! A step that fails although enough is free, what the evidence says about it, and three cures.

use crate::twin::{bfc, bits, eager, eager_step, executor, planned, planned_step};
use plimsoll_exec::{Eager, ProgramId, RunSettings, StepError};
use plimsoll_graph::op::{MatMul, Reduce, Reduction};
use plimsoll_graph::{Graph, Init, Role, Site, TensorType};
use plimsoll_memory::Device;
use plimsoll_trace::Bytes;
use plimsoll_train::{Loss, Optimizer, TrainingGraph, training_graph};

const LIMIT: Bytes = Bytes::mib(20);

/// Sequences of growing length. The short ones make TensorFlow's allocator reserve regions of 2, 4 and 8 MiB, which it
/// never joins or gives back; the longest, of 9 MiB, then finds enough free bytes, but no piece that is large enough.
const LENGTHS: [usize; 4] = [800, 1600, 2400, 4608];

/// The mean over all positions, then a dense layer: the input is by far the largest value.
fn graph(length: usize) -> TrainingGraph {
    let mut graph = Graph::new("mean");
    let x = graph.add_input("x", TensorType::f32([8, length, 64])).unwrap();
    let layer = graph.add_layer("dense");
    let kernel = TensorType::f32([64, 10]);
    let init = Init::Uniform(0.1);
    let kernel = graph.add_persistent("dense/kernel", kernel, Role::Parameter, init, Some(layer)).unwrap();
    let mean = Reduce { reduction: Reduction::Mean, axes: vec![1], keep_axes: false };
    let mean = graph.add_single(mean.into(), &[x], Site::forward(layer)).unwrap();
    let logits = graph.add_single(MatMul::default().into(), &[mean, kernel], Site::forward(layer)).unwrap();
    graph.add_output(logits);
    let loss = Loss::SparseCategoricalCrossEntropy { from_logits: true };
    training_graph(graph, &loss.into(), Optimizer::Sgd).unwrap()
}

struct Fragmented {
    device: Eager,
    programs: [ProgramId; 4],
    graphs: [TrainingGraph; 4],
}

/// A device that has run all lengths but the longest.
fn fragmented(growth: bool) -> Fragmented {
    let graphs = LENGTHS.map(graph);
    let (mut device, first) = eager(&graphs[0], LIMIT, bfc(growth)).unwrap();
    let mut programs = [first; 4];
    for index in 0..4 {
        programs[index] = device.load(graphs[index].graph.clone(), &[graphs[index].loss]).unwrap();
        if index < 3 {
            eager_step(&mut device, programs[index], &graphs[index], 1).unwrap();
        }
    }
    Fragmented { device, programs, graphs }
}

impl Fragmented {
    fn longest_step(&mut self) -> Result<f32, StepError> {
        eager_step(&mut self.device, self.programs[3], &self.graphs[3], 2)
    }

    fn kernel(&self) -> Vec<u32> {
        let kernel = self.graphs[0].graph.find("dense/kernel").unwrap();
        bits(self.device.f32(self.programs[0], kernel))
    }
}

#[test]
fn memory_in_pieces_is_recognised_as_such() {
    let mut fragmented = fragmented(true);
    let Err(StepError::OutOfMemory(found)) = fragmented.longest_step() else {
        panic!("the longest step must not fit: {:?}", fragmented.device.statistics());
    };
    assert!(found.free() > found.requested && found.requested > found.largest_free, "{found:?}");
    assert!(found.is_fragmentation());
    assert!(found.fragmentation > 0.3, "{}", found.fragmentation);
    assert_eq!(found.label.value, "x");
    assert!(found.to_string().contains("are free, but the largest piece has only 8.00 MiB"), "{found}");
    for cure in ["one region", "together", "planned"] {
        assert!(found.hint().contains(cure), "{}", found.hint());
    }
}

#[test]
fn compaction_cures_it() {
    let mut fragmented = fragmented(true);
    fragmented.longest_step().unwrap_err();
    let before = fragmented.kernel();
    let done = fragmented.device.compact().unwrap().expect("there is place for the kernel");
    assert_eq!(fragmented.kernel(), before, "contents move along");
    assert_eq!((done.reserved_before, done.reserved_after), (Bytes::mib(14), Bytes::mib(2)));
    assert_eq!((done.blocks, done.moved), (1, Bytes(64 * 10 * 4)));
    fragmented.longest_step().unwrap();
    plimsoll_trace::verify(fragmented.device.recording()).unwrap();
}

#[test]
fn one_region_cures_it() {
    fragmented(false).longest_step().unwrap();
}

#[test]
fn a_planned_layout_cures_it() {
    let training = graph(LENGTHS[3]);
    let arena = planned(&training);
    assert!(arena.peak() <= LIMIT, "{}", arena.peak());
    let (mut planned, program) = executor(&training, arena);
    assert!(planned_step(&mut planned, program, &training, 2).is_finite());
}

/// Outputs that the caller has not read yet move along.
#[test]
fn compaction_keeps_outputs_and_is_harmless_twice() {
    let Fragmented { mut device, programs, graphs } = fragmented(true);
    let loss = eager_step(&mut device, programs[2], &graphs[2], 4).unwrap();
    for _ in 0..2 {
        device.compact().unwrap().unwrap();
        assert_eq!(device.f32(programs[2], graphs[2].loss)[0].to_bits(), loss.to_bits());
    }
    eager_step(&mut device, programs[3], &graphs[3], 5).unwrap();
}

/// Weights that a hundred short-lived blocks have scattered over many regions stand side by side afterwards.
#[test]
fn scattered_blocks_are_moved_together() {
    let device = Device::host(Bytes::mib(64));
    let mut eager = Eager::new(&device, bfc(true), 1, RunSettings { poison: true, record: true }).unwrap();
    let mut graphs = Vec::new();
    for index in 0..12 {
        let mut graph = Graph::new("scattered");
        let tensor = TensorType::f32([1000 + 7000 * index]);
        let name = format!("weights {index}");
        let weights = graph.add_persistent(name, tensor, Role::Parameter, Init::Constant(0.0), None).unwrap();
        let filler = graph.add_input("filler", TensorType::f32([500_000])).unwrap();
        graph.add_output(filler);
        let program = eager.load(graph, &[]).unwrap();
        eager.f32_mut(program, weights).fill(index as f32);
        eager.begin(program).unwrap();
        graphs.push((program, weights));
    }
    eager.release();
    let done = eager.compact().unwrap().unwrap();
    assert!(done.reserved_after < done.reserved_before, "{done:?}");
    assert_eq!(eager.statistics().blocks, 12);
    assert_eq!(device.in_use(), done.reserved_after, "regions went back to the device");
    for (index, (program, weights)) in graphs.into_iter().enumerate() {
        assert!(eager.f32(program, weights).iter().all(|&x| x == index as f32), "weights {index}");
    }
    plimsoll_trace::verify(eager.recording()).unwrap();
}
