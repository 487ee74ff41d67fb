//! Runs ops through the executor and takes their time.

use super::specimens::Specimen;
use plimsoll_exec::{Backend, BindError, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll_graph::{ElementType, Graph, Init, OpKind, Phase, Role, Site, TensorType, ValueId};
use plimsoll_memory::{Device, OutOfMemory};
use plimsoll_plan::{Options, Profile, Residents, VerifiedArena, Work, plan, verify_arena, work};
use std::time::{Duration, Instant};

/// Ops are repeated within a run until it takes about so many seconds: entering the thread pool, which a step does only
/// once, must not count.
const RUN_SECONDS: f64 = 2e-3;
/// Each repetition has values of its own, so that caches help as little as they do in a step; no more than these take.
const MOST_BYTES: u64 = 40 << 20;
const MOST_COPIES: u64 = 256;
/// A specimen has an arena to itself.
const PROGRAM: ProgramId = ProgramId::of(0);

/// The seconds of one specimen: the shortest of some runs, since others on the machine can only make them longer.
pub(super) fn seconds(specimen: &Specimen, threads: usize, runs: usize) -> Result<f64, OutOfMemory> {
    let backend = CpuBackend::new(threads);
    let (arena, copies) = planned(specimen, backend);
    let device = Device::host(arena.peak());
    let made = Executor::new(&backend, arena, &[], &device, "calibration", RunSettings::default());
    let mut executor = made.map_err(|error| match error {
        BindError::OutOfMemory(refused) => refused,
        other => unreachable!("the arena is for this backend, on the host: {other}"),
    })?;
    let mut shortest = Duration::MAX;
    for _ in 0..runs {
        // A plan may have put something else in the place of an input that was read.
        fill(&mut executor, index_limit(specimen));
        let start = Instant::now();
        executor.run(PROGRAM).expect("inputs are finite and indices in range");
        shortest = shortest.min(start.elapsed());
    }
    Ok(shortest.as_secs_f64() / copies as f64)
}

/// A graph of some copies of the op, and its plan.
fn planned(specimen: &Specimen, backend: CpuBackend) -> (VerifiedArena, usize) {
    let outputs = specimen.kind.infer(&specimen.inputs).expect("specimens fit their ops");
    let copies = copies(work(&specimen.kind, &specimen.inputs, &outputs));
    let mut graph = Graph::new("specimen");
    for copy in 0..copies {
        add_copy(&mut graph, specimen, copy);
    }
    let target = backend.target(Profile::default());
    let made = plan(&graph, &target, Options::default(), &Residents::default());
    (verify_arena(vec![(graph, made)], &target).expect("our plans hold"), copies)
}

/// How often to repeat an op, going by a rough guess of its time.
fn copies(work: Work) -> usize {
    let guess = 1e-6 + work.flops as f64 / 5e10 + work.bytes as f64 / 2e10;
    let most = (MOST_BYTES / work.bytes.max(1)).clamp(1, MOST_COPIES);
    ((RUN_SECONDS / guess) as u64).clamp(1, most) as usize
}

fn add_copy(graph: &mut Graph, specimen: &Specimen, copy: usize) {
    let overwritten = specimen.kind.updates();
    let mut add_value = |(index, tensor): (usize, &TensorType)| {
        let name = format!("{copy}/{index}");
        let added = match overwritten.iter().any(|update| update.input == index) {
            true => graph.add_persistent(name, tensor.clone(), Role::Parameter, Init::Constant(0.5), None),
            false => graph.add_input(name, tensor.clone()),
        };
        added.expect("specimens are small")
    };
    let inputs: Vec<ValueId> = specimen.inputs.iter().enumerate().map(&mut add_value).collect();
    let site = Site { layer: None, phase: Phase::Backward };
    let outputs = graph.add_op(specimen.kind.clone(), &inputs, site).expect("specimens fit their ops");
    graph.add_output(outputs[0]);
}

/// Ordinary numbers, since kernels take the same time for all of them; indices all over their range.
fn fill(executor: &mut Executor, limit: usize) {
    let graph = executor.graph(PROGRAM);
    let values: Vec<ValueId> = graph.inputs().chain(graph.persistents()).collect();
    for value in values {
        match executor.graph(PROGRAM).tensor(value).element {
            ElementType::I32 => executor.write_i32(PROGRAM, value, |indices| {
                let indices = indices.iter_mut().enumerate();
                indices.for_each(|(i, index)| *index = ((7919 * i + 1) % limit) as i32);
            }),
            _ => executor.write_f32(PROGRAM, value, |numbers| numbers.fill(0.75)),
        }
    }
}

/// How many rows or classes there are to point at.
fn index_limit(specimen: &Specimen) -> usize {
    let kind = &specimen.kind;
    if let OpKind::EmbeddingGradient(op) = kind {
        op.rows
    } else if matches!(kind, OpKind::Embedding(_)) {
        specimen.inputs[0].shape[0]
    } else if matches!(kind, OpKind::CrossEntropy(_) | OpKind::CrossEntropyGradient(_)) {
        specimen.inputs[0].shape.last()
    } else {
        2
    }
}

/// The memory that a specimen takes.
#[cfg(test)]
pub(super) fn peak(specimen: &Specimen, threads: usize) -> plimsoll_trace::Bytes {
    planned(specimen, CpuBackend::new(threads)).0.peak()
}
