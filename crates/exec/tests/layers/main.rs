//! Every layer computes what Keras computes: its result, and the gradients of its inputs and weights.
//!
//! `../golden/layers.json` holds the cases and `../golden/make_layers.py` says by what rule inputs and weights are
//! made. The order and the names of the weights are compared, too: importers rely on `Model::weights` giving them as
//! Keras does.

mod images;
mod numbers;
mod operations;
mod repeated;
mod sequences;

mod vectors;

use numbers::{hash, seed, units};
use plimsoll_exec::{Backend, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll_graph::op::{Binary, Reduce, Reduction};
use plimsoll_graph::{ElementType, Graph, Phase, Role, Shape, Site, TensorType, ValueId};
use plimsoll_memory::Device;
use plimsoll_model::{Builder, Mode, Model, NodeRef};
use plimsoll_plan::{Options, Profile, Residents, plan, verify_arena};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The name of a golden case, and what puts the same model together.
type Case = (&'static str, fn(&mut Builder, &[NodeRef]) -> NodeRef);

const BATCH: usize = 2;

/// The largest difference, relative to the largest element.
const TOLERANCE: f64 = 1e-5;

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../golden/layers.json")).expect("the script writes valid JSON")
});

#[test]
fn layers_of_images() {
    images::CASES.iter().for_each(check);
}

#[test]
fn layers_of_vectors() {
    vectors::CASES.iter().for_each(check);
}

#[test]
fn layers_of_sequences() {
    sequences::CASES.iter().for_each(check);
}

#[test]
fn operations_on_tensors() {
    operations::CASES.iter().for_each(check);
}

#[test]
fn every_golden_case_is_checked() {
    let all = [images::CASES, vectors::CASES, sequences::CASES, operations::CASES].concat();
    for golden in list(&GOLDEN["cases"]) {
        let name = golden["name"].as_str().unwrap();
        assert!(all.iter().any(|(other, _)| *other == name), "{name} has no model here");
    }
}

fn check(&(name, build): &Case) {
    let golden = list(&GOLDEN["cases"]).iter().find(|case| case["name"] == name);
    let golden = golden.unwrap_or_else(|| panic!("{name} has no golden case"));
    let mut net = Builder::new(name);
    let inputs: Vec<NodeRef> =
        list(&golden["inputs"]).iter().map(|shape| add_input(&mut net, golden, shape)).collect();
    let output = build(&mut net, &inputs);
    let model = net.build(output);
    check_result(name, &model, golden);
    check_gradients(name, &model, golden);
}

fn add_input(net: &mut Builder, golden: &Value, shape: &Value) -> NodeRef {
    let shape: Vec<usize> = serde_json::from_value(shape.clone()).unwrap();
    match golden["vocab"].is_null() {
        true => net.input(Shape::new(shape)),
        false => net.tokens(shape[0]),
    }
}

fn check_result(name: &str, model: &Model, golden: &Value) {
    let graph = model.lower(BATCH, Mode::Inference).unwrap_or_else(|error| panic!("{name}: {error}"));
    let weights = weights(name, model, &graph, golden);
    let shape: Vec<usize> = serde_json::from_value(golden["shape"].clone()).unwrap();
    assert_eq!(graph.tensor(graph.outputs()[0]).shape.extents(), shape, "{name}");
    let outputs = run(&graph, &given(&graph, golden, &weights));
    compare(&format!("{name}: result"), &outputs[0], &golden["output"]);
}

fn check_gradients(name: &str, model: &Model, golden: &Value) {
    let mut graph = model.lower(BATCH, Mode::Training).unwrap();
    let weights = weights(name, model, &graph, golden);
    let output = graph.take_outputs()[0];
    let site = Site { layer: None, phase: Phase::Forward };
    let dy = graph.add_input("dy", TensorType::f32(graph.tensor(output).shape.clone())).unwrap();
    let weighted = graph.add_single(Binary::Multiply.into(), &[output, dy], site).unwrap();
    let sum = Reduce::all(Reduction::Sum, graph.tensor(weighted).shape.rank());
    let loss = graph.add_single(sum.into(), &[weighted], site).unwrap();
    let floats = graph.inputs().filter(|&id| graph.value(id).name.starts_with('x') && is_float(&graph, id));
    let wanted: Vec<ValueId> = floats.chain(weights.iter().copied()).collect();
    let learned: Vec<ValueId> =
        wanted.iter().copied().filter(|&id| graph.value(id).role != Role::Statistic).collect();
    let found = plimsoll_train::differentiate(&mut graph, loss, &learned).unwrap();
    let found: HashMap<ValueId, Option<ValueId>> = learned.into_iter().zip(found).collect();
    graph.add_output(loss);
    let mut golden_gradients = Vec::new();
    for (&id, golden) in wanted.iter().zip(list(&golden["gradients"])) {
        let what = format!("{name}: gradient of {}", graph.value(id).name);
        let gradient = found.get(&id).copied().flatten();
        assert_eq!(gradient.is_some(), !golden.is_null(), "{what}");
        if let Some(gradient) = gradient {
            graph.add_output(gradient);
            golden_gradients.push((what, golden));
        }
    }
    assert_eq!(wanted.len(), list(&golden["gradients"]).len(), "{name}");
    let outputs = run(&graph, &given(&graph, golden, &weights));
    for ((what, golden), found) in golden_gradients.into_iter().zip(&outputs[1..]) {
        compare(&what, found, golden);
    }
}

/// The weights of all nodes, after a comparison of their names and shapes with Keras's.
fn weights(name: &str, model: &Model, graph: &Graph, golden: &Value) -> Vec<ValueId> {
    let weights: Vec<ValueId> = (0..model.nodes.len()).flat_map(|node| Model::weights(graph, node)).collect();
    let described = |&id: &ValueId| {
        let last = graph.value(id).name.rsplit('/').next().unwrap().to_string();
        // Keras gives this weight no name.
        let last = if name == "layer_scale" { "variable".to_string() } else { last };
        (last, graph.tensor(id).shape.extents().to_vec())
    };
    let found: Vec<(String, Vec<usize>)> = weights.iter().map(described).collect();
    let wanted: Vec<(String, Vec<usize>)> = serde_json::from_value(golden["weights"].clone()).unwrap();
    assert_eq!(found, wanted, "{name}");
    weights
}

fn is_float(graph: &Graph, id: ValueId) -> bool {
    graph.tensor(id).element == ElementType::F32
}

/// The contents of all inputs and weights, by the rule of the script.
fn given(graph: &Graph, golden: &Value, weights: &[ValueId]) -> HashMap<ValueId, Vec<f64>> {
    let inputs = graph.inputs().map(|id| {
        let (name, count) = (graph.value(id).name.as_str(), graph.tensor(id).shape.elements());
        let name = if name == "x" { "x0" } else { name };
        let ids = |vocab: u64| (0..count as u64).map(|j| (hash(seed(name), j) % vocab) as f64).collect();
        (
            id,
            golden["vocab"].as_u64().filter(|_| !is_float(graph, id)).map_or_else(|| units(name, count), ids),
        )
    });
    let weights = weights.iter().enumerate().map(|(position, &id)| {
        let half =
            units(&format!("w{position}"), graph.tensor(id).shape.elements()).into_iter().map(|u| u / 2.0);
        let contents = match graph.value(id).name.rsplit('/').next() {
            Some("count") => half.map(|_| 0.0).collect(),
            Some(last) if last.contains("variance") => half.map(|u| f64::from((u + 1.0) as f32)).collect(),
            _ => half.collect(),
        };
        (id, contents)
    });
    inputs.chain(weights).collect()
}

const CPU: CpuBackend = CpuBackend::new(1);

/// Plans a graph, runs it once in a poisoned arena, and gives its outputs.
fn run(graph: &Graph, given: &HashMap<ValueId, Vec<f64>>) -> Vec<Vec<f64>> {
    let target = CPU.target(Profile::default());
    let made = plan(graph, &target, Options::default(), &Residents::default());
    let arena = verify_arena(vec![(graph.clone(), made)], &target).unwrap();
    let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
    let mut executor = Executor::new(&CPU, arena, &[], &device, graph.name(), settings).unwrap();
    let program = ProgramId::of(0);
    for (&id, contents) in given {
        match graph.tensor(id).element {
            ElementType::I32 => executor.write_i32(program, id, |into| copy(contents, into, |x| x as i32)),
            _ => executor.write_f32(program, id, |into| copy(contents, into, |x| x as f32)),
        }
    }
    executor.run(program).unwrap();
    let read = |&output: &ValueId| executor.read_f32(program, output).iter().map(|&x| f64::from(x)).collect();
    graph.outputs().iter().map(read).collect()
}

fn copy<T>(from: &[f64], to: &mut [T], convert: impl Fn(f64) -> T) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = convert(from));
}

fn compare(what: &str, found: &[f64], wanted: &Value) {
    let wanted: Vec<f64> = serde_json::from_value(wanted.clone()).unwrap();
    assert_eq!(found.len(), wanted.len(), "{what}");
    let largest = wanted.iter().fold(1e-2f64, |max, x| max.max(x.abs()));
    for (element, (f, w)) in found.iter().zip(&wanted).enumerate() {
        assert!((f - w).abs() <= TOLERANCE * largest, "{what}: element {element} is {f}, but {w} in Keras");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("the script writes a list here")
}
