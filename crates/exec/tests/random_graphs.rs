//! Random training graphs: planned, proved, run with freed bytes poisoned, and compared with the reference.

use plimsoll_exec::reference::{self, Tensor};
use plimsoll_exec::{Backend, CpuBackend, Eager, Executor, ProgramId, RunSettings};
use plimsoll_graph::op::{
    BatchNorm, BiasAdd, Binary, Broadcast, Concat, Conv2d, Dropout, LayerNorm, MatMul, Pad, Padding, Pool,
    Pool2d, Reduce, Reduction, Reshape, Slice, Sliding, Softmax, Transpose, Unary,
};
use plimsoll_graph::{
    ElementType, Graph, Init, OpKind, Phase, Role, Shape, Site, Source, TensorType, ValueId, text,
};
use plimsoll_memory::{Allocator, Bfc, BfcOptions, Device};
use plimsoll_plan::{
    Options, PlanError, Profile, Residents, Target, VerifiedArena, plan, predict, verify_arena,
};
use plimsoll_trace::{Bytes, summarize};
use plimsoll_train::{Loss, Optimizer, TrainingGraph, training_graph};
use proptest::prelude::*;
use std::collections::HashMap;

const CPU: CpuBackend = CpuBackend::new(2);
const PROGRAM: ProgramId = ProgramId::of(0);

fn target() -> Target {
    CPU.target(Profile::default())
}

/// An executor for a proved arena on memory that is just large enough.
fn executor(backend: &dyn Backend, arena: VerifiedArena, settings: RunSettings) -> Executor {
    let device = Device::host(arena.peak());
    Executor::new(backend, arena, &[], &device, "test", settings).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graphs_hold_together_and_round_trip(seed in any::<u64>(), ops in 1usize..25) {
        let training = random_training_graph(seed, ops);
        plimsoll_graph::verify(&training.graph).unwrap();
        prop_assert_eq!(text::parse(&text::print(&training.graph)).unwrap(), training.graph);
    }

    #[test]
    fn plans_are_proved_and_the_same_every_time(seed in any::<u64>(), ops in 1usize..25) {
        let graph = random_training_graph(seed, ops).graph;
        for in_place in [false, true] {
            for update_when_ready in [false, true] {
                let options = Options { in_place, update_when_ready };
                let made = plan(&graph, &target(), options, &Residents::default());
                prop_assert!(made.floor <= made.peak);
                prop_assert_eq!(&made, &plan(&graph, &target(), options, &Residents::default()));
                let predicted = predict(&graph, &made);
                plimsoll_trace::verify(&predicted).unwrap();
                prop_assert_eq!(summarize(&predicted).peak, made.peak);
                verify_arena(vec![(graph.clone(), made)], &target()).unwrap();
            }
        }
    }

    #[test]
    fn plans_in_tiny_pages_are_proved(seed in any::<u64>(), ops in 1usize..25, more in 0u64..8) {
        let graph = random_training_graph(seed, ops).graph;
        let whole = plan(&graph, &target(), Options::default(), &Residents::default());
        let largest = whole.buffers.iter().map(|buffer| buffer.bytes).max().unwrap();
        let paged = |page: u64| {
            let target = Target { page: Some(Bytes(page)), ..target() };
            let made = plan(&graph, &target, Options::default(), &Residents::default());
            let (floor, peak) = (made.floor, made.peak);
            verify_arena(vec![(graph.clone(), made)], &target).map(|_| (floor, peak))
        };
        let (floor, peak) = paged(largest.0 + 64 * more).unwrap();
        prop_assert!(floor == whole.floor && floor <= peak);
        let error = paged(largest.0 - 64).map(|_| ()).unwrap_err();
        let refused = matches!(error, PlanError::TooLarge { .. } | PlanError::BadPage { .. });
        prop_assert!(refused, "{}", error);
    }

    #[test]
    fn eager_runs_are_planned_runs(seed in any::<u64>(), ops in 1usize..20) {
        run_planned_and_eager(&random_training_graph(seed, ops), seed);
    }

    #[test]
    fn pages_change_no_bit(seed in any::<u64>(), ops in 1usize..20) {
        run_in_pages(&random_training_graph(seed, ops), seed);
    }

    #[test]
    fn planned_runs_are_reference_runs(seed in any::<u64>(), ops in 1usize..20) {
        run_and_compare(&random_training_graph(seed, ops), seed);
    }
}

/// Two steps in a poisoned arena that is just large enough, against two steps of the reference.
fn run_and_compare(training: &TrainingGraph, seed: u64) {
    let graph = &training.graph;
    let made = plan(graph, &target(), Options::default(), &Residents::default());
    let predicted = predict(graph, &made);
    let peak = made.peak;
    let arena = verify_arena(vec![(graph.clone(), made)], &target()).unwrap();
    let (mut executor, program) =
        (executor(&CPU, arena, RunSettings { poison: true, record: true }), PROGRAM);
    let mut given = first_contents(training, seed);
    for (&id, tensor) in
        given.iter().filter(|(id, _)| matches!(graph.value(**id).source, Source::Persistent(_)))
    {
        executor.write_f32(program, id, |into| write(into, tensor));
    }
    for step in 1..=2 {
        given.insert(training.step, Tensor::i32([], [f64::from(step)]));
        for id in graph.inputs() {
            match graph.tensor(id).element {
                ElementType::I32 => {
                    executor.write_i32(program, id, |into| into.fill(given[&id].data[0] as i32))
                }
                _ => executor.write_f32(program, id, |into| write(into, &given[&id])),
            }
        }
        executor.run(program).unwrap();
        assert_eq!(executor.recording(program), &predicted, "the recorded trace is not the predicted one");
        let contents = reference::interpret(graph, &given);
        for &output in graph.outputs() {
            compare(graph, output, &executor.read_f32(program, output), &contents[output.index()]);
        }
        for op in graph.ops() {
            for update in op.kind.updates() {
                let (old, new) = (op.inputs[update.input], op.outputs[update.output]);
                compare(graph, old, &executor.read_f32(program, old), &contents[new.index()]);
                given.insert(old, rounded(&contents[new.index()]));
            }
        }
    }
    assert_eq!(executor.measured_peak(), peak);
}

/// A step in one piece and one in pages that are as small as the largest buffer allows give the same bits.
fn run_in_pages(training: &TrainingGraph, seed: u64) {
    let graph = &training.graph;
    let made = plan(graph, &target(), Options::default(), &Residents::default());
    let largest = made.buffers.iter().map(|buffer| buffer.bytes).max().unwrap();
    let page = Some(Bytes(largest.0.next_multiple_of(256)));
    let given = first_contents(training, seed);
    let run = |backend: CpuBackend| {
        let target = backend.target(Profile::default());
        let made = plan(graph, &target, Options::default(), &Residents::default());
        let (peak, predicted) = (made.peak, predict(graph, &made));
        let arena = verify_arena(vec![(graph.clone(), made)], &target).unwrap();
        let mut executor = executor(&backend, arena, RunSettings { poison: true, record: true });
        for id in graph.inputs().chain(graph.persistents()) {
            match graph.tensor(id).element {
                ElementType::I32 => executor.write_i32(PROGRAM, id, |into| into.fill(1)),
                _ => executor.write_f32(PROGRAM, id, |into| write(into, &given[&id])),
            }
        }
        executor.run(PROGRAM).unwrap();
        assert_eq!((executor.recording(PROGRAM), executor.measured_peak()), (&predicted, peak));
        let results = graph.outputs().iter().copied().chain(graph.persistents());
        let bits = |id| executor.read_f32(PROGRAM, id).into_iter().map(f32::to_bits).collect();
        results.map(bits).collect::<Vec<Vec<u32>>>()
    };
    assert_eq!(run(CPU), run(CpuBackend { page, ..CPU }), "\n{}", text::print(graph));
}

/// A planned and an eager step on poisoned memory give the same bits.
fn run_planned_and_eager(training: &TrainingGraph, seed: u64) {
    let graph = &training.graph;
    let made = plan(graph, &target(), Options::default(), &Residents::default());
    let arena = verify_arena(vec![(graph.clone(), made)], &target()).unwrap();
    let settings = RunSettings { poison: true, record: true };
    let (mut executor, planned) = (executor(&CPU, arena, settings), PROGRAM);
    let make = || Box::new(Bfc::new(BfcOptions::default())) as Box<dyn Allocator>;
    let mut eager = Eager::new(&Device::host(Bytes::mib(64)), Box::new(make), CPU.threads, settings).unwrap();
    let program = eager.load(graph.clone(), &[]).unwrap();
    eager.begin(program).unwrap();
    let given = first_contents(training, seed);
    for id in graph.inputs().chain(graph.persistents()) {
        match graph.tensor(id).element {
            ElementType::I32 => {
                executor.write_i32(planned, id, |into| into.fill(1));
                eager.i32_mut(program, id).fill(1);
            }
            _ => {
                executor.write_f32(planned, id, |into| write(into, &given[&id]));
                write(eager.f32_mut(program, id), &given[&id]);
            }
        }
    }
    executor.run(planned).unwrap();
    eager.run(program).unwrap();
    for id in graph.outputs().iter().copied().chain(graph.persistents()) {
        let (wanted, found) = (executor.read_f32(planned, id), eager.f32(program, id));
        let same = wanted.iter().zip(found).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "{} differs\n{}", graph.value(id).name, text::print(graph));
    }
    plimsoll_trace::verify(eager.recording()).unwrap();
}

fn compare(graph: &Graph, value: ValueId, found: &[f32], wanted: &Tensor) {
    let largest = wanted.data.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    for (element, (&f, w)) in found.iter().zip(&wanted.data).enumerate() {
        let close = (f64::from(f) - w).abs() <= 1e-3 * largest;
        let name = &graph.value(value).name;
        assert!(close, "{name}[{element}] is {f}, not {w}\n{}", text::print(graph));
    }
}

fn write(into: &mut [f32], tensor: &Tensor) {
    into.iter_mut().zip(&tensor.data).for_each(|(to, from)| *to = *from as f32);
}

/// What float32 holds of a reference result, so that errors do not add up over steps.
fn rounded(tensor: &Tensor) -> Tensor {
    Tensor::new(tensor.tensor.clone(), tensor.data.iter().map(|&x| f64::from(x as f32)).collect())
}

fn first_contents(training: &TrainingGraph, seed: u64) -> HashMap<ValueId, Tensor> {
    let graph = &training.graph;
    let mut random = Random(seed ^ 0x5eed);
    let fill = |id: ValueId, random: &mut Random| {
        let value = graph.value(id);
        let elements = value.tensor.shape.elements();
        let element = |random: &mut Random| match value.role {
            Role::OptimizerState => 0.0,
            _ if id == training.learning_rate => f64::from(0.01f32),
            _ => f64::from((random.unit() * 2.0 - 1.0) as f32),
        };
        (id, Tensor::new(value.tensor.clone(), (0..elements).map(|_| element(random)).collect()))
    };
    graph.inputs().chain(graph.persistents()).map(|id| fill(id, &mut random)).collect()
}

/// A forward graph of random ops, with mean squared error and SGD or Adam.
fn random_training_graph(seed: u64, ops: usize) -> TrainingGraph {
    let mut maker = Maker::new(seed);
    while maker.graph.ops().len() < ops {
        maker.add_random_op();
    }
    // With Adam's usual epsilon a gradient that is all rounding error would still make a full step.
    let adam = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 0.1, amsgrad: false };
    let optimizer = [Optimizer::Sgd, Optimizer::Momentum { momentum: 0.9 }, adam][maker.random.below(3)];
    let (graph, last) = maker.finish();
    let mut graph = graph;
    graph.add_output(last);
    training_graph(graph, &Loss::MeanSquaredError.into(), optimizer).unwrap()
}

struct Maker {
    graph: Graph,
    values: Vec<ValueId>,
    step: ValueId,
    random: Random,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut graph = Graph::new("random");
        let shape = [2, 3 + random.below(4), 3 + random.below(4), 1 + random.below(5)];
        let x = graph.add_input("x", TensorType::f32(shape)).unwrap();
        let step = graph.add_input("step", TensorType::i32([])).unwrap();
        let mut maker = Self { graph, values: vec![x], step, random };
        // At least one parameter, so that there is something to train.
        maker.add_parametric(x, 0);
        maker
    }

    fn add_random_op(&mut self) {
        let pick = self.random.below(self.values.len());
        let value = self.values[pick];
        match self.random.below(18) {
            kind @ 0..4 => self.add_parametric(value, kind),
            kind => self.add_plain(value, kind),
        }
    }

    /// Ops that bring a parameter along.
    fn add_parametric(&mut self, value: ValueId, kind: usize) {
        let shape = self.shape(value);
        let channels = shape.last();
        match kind {
            0 => {
                let bias = self.parameter(&[channels]);
                self.add(BiasAdd {}, &[value, bias]);
            }
            1 if shape.rank() >= 2 => {
                let units = 1 + self.random.below(5);
                let kernel = self.parameter(&[channels, units]);
                self.add(MatMul::default(), &[value, kernel]);
            }
            2 => {
                let (gamma, beta) = (self.parameter(&[channels]), self.parameter(&[channels]));
                match self.random.below(2) {
                    0 => self.add(LayerNorm { epsilon: 1e-1 }, &[value, gamma, beta]),
                    _ => self.add(BatchNorm { epsilon: 1e-1 }, &[value, gamma, beta]),
                }
            }
            3 if shape.rank() == 4 => {
                let filters = 1 + self.random.below(4);
                let kernel = self.parameter(&[2, 2, channels, filters]);
                let sliding = Sliding { padding: Padding::Same, strides: [1, 2], ..Sliding::default() };
                self.add(Conv2d { sliding, groups: 1 }, &[value, kernel]);
            }
            _ => {}
        }
    }

    fn add_plain(&mut self, value: ValueId, kind: usize) {
        let shape = self.shape(value);
        let rank = shape.rank();
        let other = self.values[self.random.below(self.values.len())];
        let arithmetic = [Binary::Add, Binary::Subtract, Binary::Multiply][self.random.below(3)];
        match kind {
            4 => self.add(Unary::Tanh, &[value]),
            5 => self.add(Unary::Sigmoid, &[value]),
            6 => self.add(Unary::Swish, &[value]),
            7 => self.add(arithmetic, &[value, other]),
            8 => self.add(Binary::Multiply, &[value, value]),
            9 => {
                self.add(Reshape { shape: [shape.elements() / shape.last(), shape.last()].into() }, &[value])
            }
            10 => self.add(Transpose { order: (0..rank).rev().collect() }, &[value]),
            11 => self.add(Concat { axis: rank - 1 }, &[value, value]),
            12 => {
                let size = shape.extents().iter().map(|&extent| extent.div_ceil(2)).collect();
                self.add(Slice { start: vec![0; rank], size }, &[value]);
            }
            13 => self.add(Pad { before: vec![1; rank], after: vec![0; rank], value: 0.5 }, &[value]),
            14 => self.add(Softmax {}, &[value]),
            15 => self.add(Dropout { rate: 0.3, seed: 11 }, &[value, self.step]),
            16 if rank == 4 => {
                let sliding = Sliding { padding: Padding::Same, strides: [2, 2], ..Sliding::default() };
                self.add(Pool2d { pool: Pool::Average, window: [2, 2], sliding }, &[value]);
            }
            _ => {
                self.add(Reduce { reduction: Reduction::Mean, axes: vec![0], keep_axes: true }, &[value]);
                let mean = *self.values.last().unwrap();
                let mut extents = self.shape(mean).extents().to_vec();
                extents[0] = 2;
                self.add(Broadcast { shape: Shape::new(extents) }, &[mean]);
            }
        }
    }

    /// Adds an op if it takes these inputs and its result stays small.
    fn add(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) {
        let kind = kind.into();
        let types: Vec<TensorType> = inputs.iter().map(|&input| self.graph.tensor(input).clone()).collect();
        let small = kind.infer(&types).is_ok_and(|outputs| outputs[0].shape.elements() < 2000);
        if small {
            let outputs = self.graph.add_op(kind, inputs, self.site()).unwrap();
            self.values.push(outputs[0]);
        }
    }

    fn parameter(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("parameter {}", self.graph.values().len());
        let tensor = TensorType::f32(Shape::new(shape));
        self.graph.add_persistent(name, tensor, Role::Parameter, Init::Uniform(1.0), None).unwrap()
    }

    /// One value that depends on all parameters: the sum of the means of everything nobody has read.
    fn finish(mut self) -> (Graph, ValueId) {
        let read: Vec<ValueId> = self.graph.ops().iter().flat_map(|op| op.inputs.clone()).collect();
        let unread: Vec<ValueId> =
            self.values.iter().copied().filter(|value| !read.contains(value)).collect();
        let mut sum: Option<ValueId> = None;
        for value in unread {
            let mean = Reduce::all(Reduction::Mean, self.shape(value).rank());
            let mean = self.graph.add_single(mean.into(), &[value], self.site()).unwrap();
            sum = Some(match sum {
                None => mean,
                Some(sum) => self.graph.add_single(Binary::Add.into(), &[sum, mean], self.site()).unwrap(),
            });
        }
        let sum = sum.expect("the last value is not read");
        let row = Reshape { shape: [1, 1].into() };
        let row = self.graph.add_single(row.into(), &[sum], self.site()).unwrap();
        (self.graph, row)
    }

    fn shape(&self, value: ValueId) -> Shape {
        self.graph.tensor(value).shape.clone()
    }

    fn site(&self) -> Site {
        Site { layer: None, phase: Phase::Forward }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The arena of a plan is never written beyond its peak: a larger one keeps its last bytes as they were.
/// A second program writes a pattern over the whole arena and beyond what the first may touch.
#[test]
fn nothing_is_written_beyond_the_peak() {
    let training = random_training_graph(42, 15);
    let made = plan(&training.graph, &target(), Options::default(), &Residents::default());
    let (peak, residents) = (made.peak, made.residents(&training.graph));
    let mut pattern = Graph::new("a pattern");
    let length = ((peak - made.persistent).0 + (1 << 16)) as usize / 4;
    let x = pattern.add_input("x", TensorType::i32([length])).unwrap();
    pattern.add_output(x);
    let above = plan(&pattern, &target(), Options::default(), &residents);
    let arena = verify_arena(vec![(training.graph.clone(), made), (pattern, above)], &target()).unwrap();
    assert!(arena.peak() >= peak + Bytes(1 << 16));
    let mut executor = executor(&CPU, arena, RunSettings { poison: true, record: false });
    let [step, pattern] = [ProgramId::of(0), ProgramId::of(1)];
    executor.write_i32(pattern, x, |into| into.fill(0x5a5a_5a5a));
    executor.run(step).unwrap();
    let mut found = vec![0; 1 << 16];
    executor.read(pattern, x, 4 * length - found.len(), &mut found);
    assert!(found.iter().all(|&byte| byte == 0x5a));
}
