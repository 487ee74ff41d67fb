//! Runs an imported model on the inputs of `make_keras.py`.

use crate::rule;
use plimsoll_exec::{Backend, CpuBackend, Executor, ProgramId, RunSettings};
use plimsoll_graph::{ElementType, Source, ValueId};
use plimsoll_import::keras::{Keras, Weight};
use plimsoll_memory::Device;
use plimsoll_model::Mode;
use plimsoll_plan::{Options, Profile, Residents, plan, verify_arena};

/// The predictions for so many samples, with weights by the rule.
pub fn predict(keras: &Keras, batch: usize, gain: f64, pixels: bool) -> Vec<Vec<f32>> {
    predict_with(keras, batch, pixels, |_, weight| {
        let name = weight.name.rsplit('/').next().unwrap();
        rule::weights(&weight.path, name, &weight.shape, gain)
    })
}

const CPU: CpuBackend = CpuBackend::new(2);

/// The predictions with any weights; inputs are in [-1, 1), or in [0, 255) if they are pixels.
pub fn predict_with(
    keras: &Keras,
    batch: usize,
    pixels: bool,
    read: impl Fn(usize, &Weight) -> Vec<f32>,
) -> Vec<Vec<f32>> {
    let graph = keras.model.lower(batch, Mode::Inference).unwrap();
    let target = CPU.target(Profile::default());
    let made = plan(&graph, &target, Options::default(), &Residents::default());
    let arena = verify_arena(vec![(graph.clone(), made)], &target).unwrap();
    let (device, settings) = (Device::host(arena.peak()), RunSettings { poison: true, record: false });
    let mut executor = Executor::new(&CPU, arena, &[], &device, graph.name(), settings).unwrap();
    let program = ProgramId::of(0);
    for (position, weight) in keras.weights.iter().enumerate() {
        let id = graph.find(&weight.name).unwrap();
        executor.write_f32(program, id, |into| into.copy_from_slice(&read(position, weight)));
    }
    for (position, id) in graph.inputs().collect::<Vec<ValueId>>().into_iter().enumerate() {
        let name = if position == 0 { "x".to_string() } else { format!("x{position}") };
        let value = graph.value(id);
        let count = value.tensor.shape.elements();
        assert_eq!(value.source, Source::Input);
        match value.tensor.element {
            ElementType::I32 => executor.write_i32(program, id, |into| {
                into.iter_mut().zip(rule::ids(&name, count)).for_each(|(into, x)| *into = x);
            }),
            _ => executor.write_f32(program, id, |into| {
                let input = |unit: f64| if pixels { unit * 127.5 + 127.5 } else { unit };
                let units = rule::units(&name, count);
                into.iter_mut().zip(units).for_each(|(into, unit)| *into = input(unit) as f32);
            }),
        }
    }
    executor.run(program).unwrap();
    graph.outputs().iter().map(|&output| executor.read_f32(program, output)).collect()
}
