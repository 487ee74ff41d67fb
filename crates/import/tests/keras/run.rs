//! Runs an imported model on the inputs of `make_keras.py`.

use crate::rule;
use plimsoll_exec::kernels::CpuKernels;
use plimsoll_exec::{Executor, Settings};
use plimsoll_graph::{ElementType, Source, ValueId};
use plimsoll_import::keras::{Keras, Weight};
use plimsoll_memory::Device;
use plimsoll_model::Mode;
use plimsoll_plan::{Options, Residents, Target, plan, verify};

/// The predictions for so many samples, with weights by the rule.
pub fn predict(keras: &Keras, batch: usize, gain: f64, pixels: bool) -> Vec<Vec<f32>> {
    predict_with(keras, batch, pixels, |_, weight| {
        let name = weight.name.rsplit('/').next().unwrap();
        rule::weights(&weight.path, name, &weight.shape, gain)
    })
}

/// The predictions with any weights; inputs are in [-1, 1), or in [0, 255) if they are pixels.
pub fn predict_with(
    keras: &Keras,
    batch: usize,
    pixels: bool,
    read: impl Fn(usize, &Weight) -> Vec<f32>,
) -> Vec<Vec<f32>> {
    let graph = keras.model.lower(batch, Mode::Inference).unwrap();
    let target = Target::new(CpuKernels { threads: 2 });
    let made = plan(&graph, &target, Options::default(), &Residents::default());
    let peak = made.peak;
    let proved = verify(graph.clone(), made, &target).unwrap();
    let settings = Settings { threads: 2, poison: true, record: false };
    let mut executor = Executor::new(&Device::host(peak), graph.name(), peak, settings).unwrap();
    let program = executor.load(proved, &[]);
    for (position, weight) in keras.weights.iter().enumerate() {
        let id = graph.find(&weight.name).unwrap();
        executor.f32_mut(program, id).copy_from_slice(&read(position, weight));
    }
    for id in graph.inputs().collect::<Vec<ValueId>>() {
        let value = graph.value(id);
        let count = value.tensor.shape.elements();
        assert_eq!(value.source, Source::Input);
        match value.tensor.element {
            ElementType::I32 => {
                let into = executor.i32_mut(program, id);
                into.iter_mut().zip(rule::ids(&value.name, count)).for_each(|(into, x)| *into = x);
            }
            _ => {
                let into = executor.f32_mut(program, id);
                let input = |unit: f64| if pixels { unit * 127.5 + 127.5 } else { unit };
                let units = rule::units(&value.name, count);
                into.iter_mut().zip(units).for_each(|(into, unit)| *into = input(unit) as f32);
            }
        }
    }
    executor.run(program).unwrap();
    graph.outputs().iter().map(|&output| executor.f32(program, output).to_vec()).collect()
}
