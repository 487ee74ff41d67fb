//! Runs an imported model on the inputs of `make_keras.py`.

use crate::rule;
use plimsoll_exec::{Backend, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll_graph::op::{Binary, Reduce, Reduction};
use plimsoll_graph::{ElementType, Graph, Phase, Role, Site, TensorType, ValueId};
use plimsoll_import::keras::{Keras, Weight};
use plimsoll_memory::Device;
use plimsoll_model::Mode;
use plimsoll_plan::{Options, Profile, Residents, plan, verify_arena};
use std::collections::BTreeMap;

/// The predictions for so many samples, with weights by the rule.
pub fn predict(keras: &Keras, batch: usize, gain: f64, pixels: bool) -> Vec<Vec<f32>> {
    predict_with(keras, batch, pixels, |_, weight| by_rule(weight, gain))
}

/// The predictions with any weights; inputs are in [-1, 1), or in [0, 255) if they are pixels.
pub fn predict_with(
    keras: &Keras,
    batch: usize,
    pixels: bool,
    read: impl Fn(usize, &Weight) -> Vec<f32>,
) -> Vec<Vec<f32>> {
    let graph = keras.model.lower(batch, Mode::Inference).unwrap();
    run(keras, &graph, pixels, read)
}

/// The predictions for the same samples a second time: they differ where something goes on from batch to batch.
#[allow(dead_code)] // not everybody has states
pub fn predict_again(keras: &Keras, batch: usize) -> Vec<Vec<f32>> {
    let graph = keras.model.lower(batch, Mode::Inference).unwrap();
    run_times(keras, &graph, false, |_, weight| by_rule(weight, 1.0), 2)
}

/// The results in training, with weights by the rule.
#[allow(dead_code)] // not everybody trains
pub fn trained(keras: &Keras, batch: usize, pixels: bool) -> Vec<Vec<f32>> {
    let graph = keras.model.lower(batch, Mode::Training).unwrap();
    run(keras, &graph, pixels, |_, weight| by_rule(weight, 1.0))
}

/// The gradients of the sum of all outputs, each times numbers of its own, by the path of the weight or the name of the
/// input, in training.
#[allow(dead_code)] // not everybody differentiates
pub fn gradients(keras: &Keras, batch: usize, pixels: bool) -> BTreeMap<String, Vec<f32>> {
    let mut graph = keras.model.lower(batch, Mode::Training).unwrap();
    let mut wanted: Vec<(String, ValueId)> = Vec::new();
    for (position, id) in graph.inputs().filter(|&id| graph.tensor(id).shape.rank() > 0).enumerate() {
        if graph.tensor(id).element.is_float() {
            wanted.push((input_name(position), id));
        }
    }
    for weight in &keras.weights {
        let id = graph.find(&weight.name).unwrap();
        if graph.value(id).role == Role::Parameter {
            wanted.push((weight.path.clone(), id));
        }
    }
    let loss = loss(&mut graph);
    let ids: Vec<ValueId> = wanted.iter().map(|(_, id)| *id).collect();
    let found = plimsoll_train::differentiate(&mut graph, loss, &ids).unwrap();
    let named: Vec<(String, ValueId)> =
        wanted.into_iter().zip(found).filter_map(|((name, _), found)| Some((name, found?))).collect();
    named.iter().for_each(|&(_, id)| graph.add_output(id));
    let results = run(keras, &graph, pixels, |_, weight| by_rule(weight, 1.0));
    named.into_iter().map(|(name, _)| name).zip(results).collect()
}

fn loss(graph: &mut Graph) -> ValueId {
    let site = Site { layer: None, phase: Phase::Forward };
    let mut loss = None;
    for (position, output) in graph.take_outputs().into_iter().enumerate() {
        let tensor = TensorType::f32(graph.tensor(output).shape.clone());
        let factors = graph.add_input(format!("dy{position}"), tensor).unwrap();
        let product = graph.add_single(Binary::Multiply.into(), &[output, factors], site).unwrap();
        let all = Reduce::all(Reduction::Sum, graph.tensor(product).shape.rank());
        let sum = graph.add_single(all.into(), &[product], site).unwrap();
        loss = Some(match loss {
            None => sum,
            Some(other) => graph.add_single(Binary::Add.into(), &[other, sum], site).unwrap(),
        });
    }
    loss.unwrap()
}

fn by_rule(weight: &Weight, gain: f64) -> Vec<f32> {
    rule::weights(&weight.path, weight.name.rsplit('/').next().unwrap(), &weight.shape, gain)
}

fn input_name(position: usize) -> String {
    if position == 0 { "x".to_string() } else { format!("x{position}") }
}

const CPU: CpuBackend = CpuBackend::new(2);

fn run(
    keras: &Keras,
    graph: &Graph,
    pixels: bool,
    read: impl Fn(usize, &Weight) -> Vec<f32>,
) -> Vec<Vec<f32>> {
    run_times(keras, graph, pixels, read, 1)
}

fn run_times(
    keras: &Keras,
    graph: &Graph,
    pixels: bool,
    read: impl Fn(usize, &Weight) -> Vec<f32>,
    times: usize,
) -> Vec<Vec<f32>> {
    let target = CPU.target(Profile::default());
    let made = plan(graph, &target, Options::default(), &Residents::default());
    let arena = verify_arena(vec![(graph.clone(), made)], &target).unwrap();
    let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
    let mut executor = Executor::new(&CPU, arena, &[], &device, graph.name(), settings).unwrap();
    let program = ProgramId::of(0);
    for (position, weight) in keras.weights.iter().enumerate() {
        let id = graph.find(&weight.name).unwrap();
        executor.write_f32(program, id, |into| into.copy_from_slice(&read(position, weight)));
    }
    for _ in 0..times {
        write_inputs(&mut executor, program, graph, pixels);
        executor.run(program).unwrap();
    }
    graph.outputs().iter().map(|&output| executor.read_f32(program, output)).collect()
}

fn write_inputs(executor: &mut Executor, program: ProgramId, graph: &Graph, pixels: bool) {
    for (position, id) in graph.inputs().collect::<Vec<ValueId>>().into_iter().enumerate() {
        let value = graph.value(id);
        let count = value.tensor.shape.elements();
        let name = if value.name.starts_with("dy") { value.name.clone() } else { input_name(position) };
        match value.tensor.element {
            ElementType::I32 => executor.write_i32(program, id, |into| {
                into.iter_mut().zip(rule::ids(&name, count)).for_each(|(into, x)| *into = x);
            }),
            _ => executor.write_f32(program, id, |into| {
                let input =
                    |unit: f64| if pixels && !name.starts_with("dy") { unit * 127.5 + 127.5 } else { unit };
                let units = rule::units(&name, count);
                into.iter_mut().zip(units).for_each(|(into, unit)| *into = input(unit) as f32);
            }),
        }
    }
}
