//! A thousand random training graphs inside random budgets: each fits and runs at its peak with the same numbers, or is
//! refused with a floor that is right.

use plimsoll::exec::{Backend, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll::graph::op::{BatchNorm, Binary, Concat, Dropout, MatMul, Reshape, Unary};
use plimsoll::graph::{Graph, Init, OpKind, Phase, Role, Site, Source, TensorType, ValueId};
use plimsoll::memory::Device;
use plimsoll::plan::recompute::{Problem, Setting, plan_within, verify_same};
use plimsoll::plan::{Options, Plan, Profile, Residents, Target, bytes_of, graph_work, plan, verify_arena};
use plimsoll::trace::Bytes;
use plimsoll::train::{Loss, Optimizer, training_graph};

const GRAPHS: u64 = 1000;
const ROWS: usize = 48;
const CPU: CpuBackend = CpuBackend::new(1);

fn target() -> Target {
    CPU.target(Profile::default())
}

/// A sequence of numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A forward graph of random ops on random earlier values; whatever nobody reads is added up at the end.
fn forward(dice: &mut Dice) -> Graph {
    let mut graph = Graph::new("random");
    let layer = graph.add_layer("layer");
    let site = Site::forward(layer);
    let width = 8 << dice.below(4);
    let x = graph.add_input("x", TensorType::f32([ROWS, width])).unwrap();
    let step = graph.add_input("step", TensorType::i32([])).unwrap();
    let mut values = vec![dense(&mut graph, x, width, 0)];
    for number in 1..2 + dice.below(14) {
        // Mostly the newest value, sometimes an old one: chains with skips.
        let pick = |dice: &mut Dice| {
            values[values.len() - 1 - dice.below(values.len()).min(dice.below(values.len()))]
        };
        let (a, b) = (pick(dice), pick(dice));
        let made = match dice.below(8) {
            0 | 1 => dense(&mut graph, a, width, number),
            2 => graph.add_single(Unary::Relu.into(), &[a], site).unwrap(),
            3 => graph.add_single(Unary::Tanh.into(), &[a], site).unwrap(),
            4 => {
                // Powers of powers would leave the range of floats.
                let product = graph.add_single(Binary::Multiply.into(), &[a, b], site).unwrap();
                graph.add_single(Unary::Tanh.into(), &[product], site).unwrap()
            }
            5 => normalized(&mut graph, a, width, number),
            6 => {
                graph.add_single(Dropout { rate: 0.3, seed: number as u64 }.into(), &[a, step], site).unwrap()
            }
            _ => concatenated(&mut graph, [a, b], width, number),
        };
        values.push(made);
    }
    let read: Vec<ValueId> = graph.ops().iter().flat_map(|op| op.inputs.clone()).collect();
    let mut unread = values.into_iter().filter(|value| !read.contains(value));
    let first = unread.next().expect("the last value is not read");
    let unread: Vec<ValueId> = unread.collect();
    let sum = unread
        .into_iter()
        .fold(first, |sum, value| graph.add_single(Binary::Add.into(), &[sum, value], site).unwrap());
    graph.add_output(sum);
    graph
}

fn parameter(graph: &mut Graph, name: String, shape: &[usize]) -> ValueId {
    let tensor = TensorType::f32(plimsoll::graph::Shape::new(shape));
    graph.add_persistent(name, tensor, Role::Parameter, Init::Uniform(0.3), None).unwrap()
}

fn dense(graph: &mut Graph, value: ValueId, width: usize, number: usize) -> ValueId {
    let from = graph.tensor(value).shape.last();
    let kernel = parameter(graph, format!("kernel{number}"), &[from, width]);
    graph
        .add_single(MatMul::default().into(), &[value, kernel], Site { layer: None, phase: Phase::Forward })
        .unwrap()
}

fn normalized(graph: &mut Graph, value: ValueId, width: usize, number: usize) -> ValueId {
    let gamma = parameter(graph, format!("gamma{number}"), &[width]);
    let beta = parameter(graph, format!("beta{number}"), &[width]);
    let site = Site { layer: None, phase: Phase::Forward };
    graph.add_op(BatchNorm { epsilon: 1e-3 }.into(), &[value, gamma, beta], site).unwrap()[0]
}

/// Two values side by side, through a view, back to the old width.
fn concatenated(graph: &mut Graph, pair: [ValueId; 2], width: usize, number: usize) -> ValueId {
    let site = Site { layer: None, phase: Phase::Forward };
    let concat: OpKind = Concat { axis: 1 }.into();
    let wide = graph.add_single(concat, &pair, site).unwrap();
    let view =
        graph.add_single(Reshape { shape: [1, ROWS, 2 * width].into() }.into(), &[wide], site).unwrap();
    let back = graph.add_single(Reshape { shape: [ROWS, 2 * width].into() }.into(), &[view], site).unwrap();
    dense(graph, back, width, number)
}

/// Runs two steps; gives everything that persists, and the peak that was measured.
fn run(graph: &Graph, plan: Plan) -> (Vec<Vec<f32>>, Bytes) {
    let arena = verify_arena(vec![(graph.clone(), plan)], &target()).unwrap();
    let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
    let mut executor = Executor::new(&CPU, arena, &[], &device, "random", settings).unwrap();
    let program = ProgramId::of(0);
    for id in graph.persistents() {
        fill(&mut executor, program, graph, id, 7);
    }
    for step in 1..=2 {
        for id in graph.inputs() {
            match graph.value(id).name.as_str() {
                "step" => executor.write_i32(program, id, |into| into.fill(step)),
                "learning_rate" => executor.write_f32(program, id, |into| into.fill(1e-4)),
                _ => fill(&mut executor, program, graph, id, step as u64),
            }
        }
        executor.run(program).unwrap();
    }
    let contents = graph.persistents().map(|id| executor.read_f32(program, id)).collect();
    (contents, executor.measured_peak())
}

fn fill(executor: &mut Executor, program: ProgramId, graph: &Graph, id: ValueId, seed: u64) {
    // What optimizers remember begins as they want it.
    let constant = match graph.value(id).source {
        Source::Persistent(Init::Constant(value)) => Some(value),
        _ => None,
    };
    // By name: the same value has another number in a rewritten graph.
    let mixed = |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
    let mut dice = Dice(graph.value(id).name.bytes().fold(seed, mixed));
    let mut number = || constant.unwrap_or_else(|| dice.below(200) as f32 / 200.0 - 0.5);
    executor.write_f32(program, id, |into| into.iter_mut().for_each(|x| *x = number()));
}

/// The floor that a refusal gives, counted again from the graph: no op can run without its inputs, outputs and scratch.
fn least(graph: &Graph, options: Options) -> u64 {
    let costs = vec![1.0; graph.ops().len()];
    let claimed = Problem::of(graph, &costs, &target(), options).least();
    let bytes = |id: ValueId| bytes_of(graph.tensor(id)).aligned(target().alignment).0;
    let persistent: u64 = graph.persistents().map(bytes).sum();
    let alone = |id: &ValueId| !graph.value(*id).role.is_persistent();
    for op in graph.ops().iter().filter(|op| !op.kind.is_view() && op.kind.updates().is_empty()) {
        let outputs: u64 = op.outputs.iter().copied().filter(alone).map(bytes).max().unwrap_or(0);
        assert!(claimed >= persistent + outputs);
    }
    claimed
}

/// With pages as large as the largest buffer, what is computed again is placed across none of them.
fn fit_in_pages(graph: &Graph, setting: Setting<'_>, budget: Bytes) {
    let whole = plan(graph, setting.target, setting.options, setting.residents);
    let page = whole.buffers.iter().map(|buffer| buffer.bytes).max();
    let target = Target { page, ..target() };
    let made = plan_within(graph, Setting { target: &target, ..setting }, budget);
    assert_eq!(made.fits, made.plan.peak <= budget);
    assert!(made.plan.floor <= made.plan.peak);
    verify_arena(vec![(made.rewritten.graph, made.plan)], &target).unwrap();
}

#[test]
fn random_graphs_fit_and_run_at_their_peak_or_are_refused_with_a_right_floor() {
    let mut dice = Dice(2026);
    let (mut fitted, mut repeated, mut refused, mut missed) = (0, 0, 0, 0);
    for number in 0..GRAPHS {
        let optimizer = Optimizer::DEFAULTS[dice.below(Optimizer::DEFAULTS.len())];
        let training = training_graph(forward(&mut dice), &Loss::MeanSquaredError.into(), optimizer).unwrap();
        let graph = &training.graph;
        let options = Options { in_place: dice.below(4) > 0, update_when_ready: dice.below(4) > 0 };
        let residents = Residents::default();
        let plain = plan(graph, &target(), options, &residents);
        let transient = plain.peak.0 - plain.persistent.0;
        let budget = Bytes(plain.persistent.0 + transient * (45 + dice.below(60) as u64) / 100);
        let costs: Vec<f64> = graph.op_ids().map(|id| graph_work(graph, id).flops as f64 + 1.0).collect();
        let setting = Setting {
            target: &target(),
            options,
            residents: &residents,
            costs: &costs,
            effort: 20_000,
            watch: None,
        };
        let made = plan_within(graph, setting, budget);
        assert_eq!(made.least.0, least(graph, options));
        assert!(made.least <= made.plan.peak, "graph {number}: a plan below the floor");
        assert_eq!(made.fits, made.plan.peak <= budget);
        if budget < made.least {
            assert!(!made.fits, "graph {number}");
        }
        if number % 20 == 0 {
            fit_in_pages(graph, setting, budget);
        }
        verify_same(graph, &made.rewritten.graph).unwrap();
        let peak = made.plan.peak;
        let (expected, _) = run(graph, plain);
        let (contents, measured) = run(&made.rewritten.graph, made.plan);
        assert_eq!(measured, peak, "graph {number}");
        assert_eq!(contents, expected, "graph {number}");
        fitted += u32::from(made.fits);
        repeated += u32::from(made.fits && made.rewritten.graph.ops().iter().any(|op| op.again));
        refused += u32::from(!made.fits);
        missed += u32::from(!made.fits && budget >= made.least);
    }
    // The budgets are such that all three happen often.
    assert!(
        fitted > 400 && repeated > 200 && refused > 100,
        "{fitted} fit, {repeated} compute again, {refused} do not fit, {missed} of them above the floor"
    );
}
