//! One training graph run twice: planned and eager, on the same numbers.

use plimsoll_exec::eager::MakeAllocator;
use plimsoll_exec::philox::Philox;
use plimsoll_exec::{Backend, CpuBackend, Eager, Executor, ProgramId, RunSettings, StepError};
use plimsoll_graph::{ElementType, Graph, OpKind, Role, ValueId};
use plimsoll_memory::{Bfc, BfcOptions, Device};
use plimsoll_model::{Mode, zoo};
use plimsoll_plan::{Options, Profile, Residents, VerifiedArena, plan, verify_arena};
use plimsoll_trace::Bytes;
use plimsoll_train::{Loss, Optimizer, TrainingGraph, training_graph};

const CPU: CpuBackend = CpuBackend::new(2);

/// TensorFlow's allocator.
pub fn bfc(growth: bool) -> MakeAllocator {
    Box::new(move || Box::new(Bfc::new(BfcOptions { growth, ..BfcOptions::default() })))
}

/// The training graph of a model of the zoo.
pub fn training(spec: &str, batch: usize, optimizer: &str) -> TrainingGraph {
    let forward = zoo::find(spec).unwrap().lower(batch, Mode::Training).unwrap();
    let loss = Loss::SparseCategoricalCrossEntropy { from_logits: false };
    training_graph(forward, &loss.into(), Optimizer::parse(optimizer).unwrap()).unwrap()
}

/// Its proved plan.
pub fn planned(training: &TrainingGraph) -> VerifiedArena {
    let target = CPU.target(Profile::default());
    let made = plan(&training.graph, &target, Options::default(), &Residents::default());
    verify_arena(vec![(training.graph.clone(), made)], &target).unwrap()
}

/// An eager executor that records and poisons, with a training graph loaded and its first weights written.
pub fn eager(
    training: &TrainingGraph,
    limit: Bytes,
    make: MakeAllocator,
) -> Result<(Eager, ProgramId), StepError> {
    let settings = RunSettings { poison: true, record: true };
    let mut eager = Eager::new(&Device::host(limit), make, CPU.threads, settings).unwrap();
    let program = eager.load(training.graph.clone(), &[training.loss])?;
    for id in training.graph.persistents() {
        first_weights(&training.graph, id, eager.f32_mut(program, id));
    }
    Ok((eager, program))
}

/// One eager step; its loss.
pub fn eager_step(
    eager: &mut Eager,
    program: ProgramId,
    training: &TrainingGraph,
    step: i32,
) -> Result<f32, StepError> {
    eager.begin(program)?;
    for id in training.graph.inputs() {
        match training.graph.tensor(id).element {
            ElementType::I32 => integers(training, id, step, eager.i32_mut(program, id)),
            _ => floats(training, id, step, eager.f32_mut(program, id)),
        }
    }
    eager.run(program)?;
    Ok(eager.f32(program, training.loss)[0])
}

/// A planned executor with the same weights.
pub fn executor(training: &TrainingGraph, arena: VerifiedArena) -> (Executor, ProgramId) {
    let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
    let watched = [vec![training.loss]];
    let mut executor = Executor::new(&CPU, arena, &watched, &device, "test", settings).unwrap();
    let program = ProgramId::of(0);
    for id in training.graph.persistents() {
        executor.write_f32(program, id, |into| first_weights(&training.graph, id, into));
    }
    (executor, program)
}

/// One planned step; its loss.
pub fn planned_step(executor: &mut Executor, program: ProgramId, training: &TrainingGraph, step: i32) -> f32 {
    for id in training.graph.inputs() {
        match training.graph.tensor(id).element {
            ElementType::I32 => executor.write_i32(program, id, |into| integers(training, id, step, into)),
            _ => executor.write_f32(program, id, |into| floats(training, id, step, into)),
        }
    }
    executor.run(program).unwrap();
    executor.read_f32(program, training.loss)[0]
}

/// Bits, so that NaNs are equal to themselves and zeros keep their sign.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn first_weights(graph: &Graph, id: ValueId, into: &mut [f32]) {
    let mut random = Philox::new(7, u64::from(id.0));
    into.iter_mut().for_each(|x| {
        *x = match graph.value(id).role {
            Role::Parameter => 0.1 * random.next_normal(),
            Role::Statistic => 1.0,
            _ => 0.0,
        }
    });
}

fn floats(training: &TrainingGraph, id: ValueId, step: i32, into: &mut [f32]) {
    let mut random = Philox::new(step as u64, u64::from(id.0));
    let rate = id == training.learning_rate;
    into.iter_mut().for_each(|x| *x = if rate { 0.01 } else { random.next_normal() });
}

fn integers(training: &TrainingGraph, id: ValueId, step: i32, into: &mut [i32]) {
    let graph = &training.graph;
    let tables = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Embedding(_)));
    let rows = tables.map(|op| graph.tensor(op.inputs[0]).shape[0]).min().unwrap_or(2);
    let classes = graph.tensor(training.heads[0].predictions).shape.last();
    let limit = if id == training.heads[0].targets { classes } else { rows };
    let mut random = Philox::new(step as u64, u64::from(id.0));
    into.iter_mut().for_each(|x| {
        *x = if id == training.step { step } else { (random.next_u32() as usize % limit) as i32 };
    });
}
