//! Runs ops through the executor and takes their time.

use super::specimens::Specimen;
use plimsoll_exec::kernels::cpu_target;
use plimsoll_exec::{Executor, ProgramId, Settings};
use plimsoll_graph::{ElementType, Graph, Init, OpKind, Phase, Role, Site, TensorType, ValueId};
use plimsoll_memory::{Device, OutOfMemory};
use plimsoll_plan::{Options, Profile, Residents, VerifiedPlan, Work, plan, verify, work};
use std::time::{Duration, Instant};

/// Ops are repeated within a run until it takes about so many seconds: entering the thread pool, which a step does only
/// once, must not count.
const RUN_SECONDS: f64 = 2e-3;
/// Each repetition has values of its own, so that caches help as little as they do in a step; no more than these take.
const MOST_BYTES: u64 = 40 << 20;
const MOST_COPIES: u64 = 256;

/// Specimens in one arena, ready to run.
pub(super) struct Bench {
    executor: Executor,
    programs: Vec<Loaded>,
}

#[derive(Clone, Copy)]
struct Loaded {
    program: ProgramId,
    copies: usize,
    /// What indices may go up to.
    limit: usize,
}

impl Bench {
    /// Plans all specimens into one arena that fits the largest.
    pub(super) fn new(specimens: &[Specimen], threads: usize) -> Result<Self, OutOfMemory> {
        let plans: Vec<(VerifiedPlan, usize)> = specimens.iter().map(|one| planned(one, threads)).collect();
        let peak = plans.iter().map(|(plan, _)| plan.plan().peak).max().unwrap_or_default();
        let settings = Settings { threads, poison: false, record: false };
        let mut executor = Executor::new(&Device::host(peak), "calibration", peak, settings)?;
        let programs = plans.into_iter().zip(specimens).map(|((plan, copies), specimen)| Loaded {
            program: executor.load(plan, &[]),
            copies,
            limit: index_limit(specimen),
        });
        Ok(Self { programs: programs.collect(), executor })
    }

    /// The seconds of one specimen: the shortest of some runs, since others on the machine can only make them longer.
    pub(super) fn seconds(&mut self, index: usize, runs: usize) -> f64 {
        let Loaded { program, copies, limit } = self.programs[index];
        let mut shortest = Duration::MAX;
        for _ in 0..runs {
            // A plan may have put something else in the place of an input that was read.
            fill(&mut self.executor, program, limit);
            let start = Instant::now();
            self.executor.run(program).expect("inputs are finite and indices in range");
            shortest = shortest.min(start.elapsed());
        }
        shortest.as_secs_f64() / copies as f64
    }
}

/// A graph of some copies of the op, and its plan.
fn planned(specimen: &Specimen, threads: usize) -> (VerifiedPlan, usize) {
    let outputs = specimen.kind.infer(&specimen.inputs).expect("specimens fit their ops");
    let copies = copies(work(&specimen.kind, &specimen.inputs, &outputs));
    let mut graph = Graph::new("specimen");
    for copy in 0..copies {
        add_copy(&mut graph, specimen, copy);
    }
    let target = cpu_target(threads, Profile::default());
    let made = plan(&graph, &target, Options::default(), &Residents::default());
    (verify(graph, made, &target).expect("our plans hold"), copies)
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
fn fill(executor: &mut Executor, program: ProgramId, limit: usize) {
    let graph = executor.graph(program);
    let values: Vec<ValueId> = graph.inputs().chain(graph.persistents()).collect();
    for value in values {
        match executor.graph(program).tensor(value).element {
            ElementType::I32 => {
                let indices = executor.i32_mut(program, value).iter_mut().enumerate();
                indices.for_each(|(i, index)| *index = ((7919 * i + 1) % limit) as i32);
            }
            _ => executor.f32_mut(program, value).fill(0.75),
        }
    }
}

/// How many rows or classes there are to point at.
fn index_limit(specimen: &Specimen) -> usize {
    match &specimen.kind {
        OpKind::Embedding(_) => specimen.inputs[0].shape[0],
        OpKind::EmbeddingGradient(op) => op.rows,
        OpKind::CrossEntropy(_) | OpKind::CrossEntropyGradient(_) => specimen.inputs[0].shape.last(),
        _ => 2,
    }
}

/// The memory that a specimen takes.
#[cfg(test)]
pub(super) fn peak(specimen: &Specimen, threads: usize) -> plimsoll_trace::Bytes {
    planned(specimen, threads).0.plan().peak
}
