//! Whole training graphs, interpreted: losses go down, and optimizers do what Keras says they do.

use plimsoll_exec::reference::{Tensor, interpret};
use plimsoll_graph::op::{BiasAdd, Binary, Reduce, Reduction};
use plimsoll_graph::{Graph, Init, Role, Site, TensorType, ValueId};
use plimsoll_train::{Loss, Optimizer, TrainingGraph, training_graph};
use std::collections::HashMap;

/// Runs one step and writes what it updated back to where the next one reads it.
fn step(training: &TrainingGraph, state: &mut HashMap<ValueId, Tensor>, number: u32) -> f64 {
    state.insert(training.step, Tensor::i32([], [f64::from(number)]));
    let contents = interpret(&training.graph, state);
    for op in training.graph.ops() {
        for update in op.kind.updates() {
            state.insert(op.inputs[update.input], contents[op.outputs[update.output].index()].clone());
        }
    }
    contents[training.loss.index()].data[0]
}

/// What the first step reads: zeros in the optimizer's slots, the rest as given.
fn start(training: &TrainingGraph, given: &[(ValueId, Tensor)]) -> HashMap<ValueId, Tensor> {
    let graph = &training.graph;
    let slots = graph.with_role(Role::OptimizerState).map(|id| {
        let tensor = graph.tensor(id).clone();
        let zeros = vec![0.0; tensor.shape.elements()];
        (id, Tensor::new(tensor, zeros))
    });
    slots.chain(given.iter().cloned()).collect()
}

fn parameter(graph: &mut Graph, name: &str, shape: &[usize]) -> ValueId {
    let tensor = TensorType::f32(plimsoll_graph::Shape::new(shape));
    graph.add_persistent(name, tensor, Role::Parameter, Init::Constant(0.0), None).unwrap()
}

/// `y = sum(x w) + b` for eight examples of three features.
fn linear_regression(loss: Loss) -> (TrainingGraph, HashMap<ValueId, Tensor>) {
    let mut graph = Graph::new("linear regression");
    let layer = graph.add_layer("dense");
    let x = graph.add_input("x", TensorType::f32([8, 3])).unwrap();
    let w = parameter(&mut graph, "w", &[3]);
    let b = parameter(&mut graph, "b", &[1]);
    let products = graph.add_single(Binary::Multiply.into(), &[x, w], Site::forward(layer)).unwrap();
    let sum = Reduce { reduction: Reduction::Sum, axes: vec![1], keep_axes: true };
    let sum = graph.add_single(sum.into(), &[products], Site::forward(layer)).unwrap();
    let y = graph.add_single(BiasAdd {}.into(), &[sum, b], Site::forward(layer)).unwrap();
    graph.add_output(y);
    let training = training_graph(graph, &loss.into(), Optimizer::Sgd).unwrap();
    let examples: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 11) / 5.0 - 1.0).collect();
    let truth: Vec<f64> = examples.chunks(3).map(|x| 0.5 * x[0] - 1.5 * x[1] + 2.0 * x[2] + 0.25).collect();
    let given = [
        (training.inputs[0], Tensor::f32([8, 3], examples)),
        (training.heads[0].targets, Tensor::f32([8, 1], truth)),
        (training.learning_rate, Tensor::f32([], [0.1])),
        (w, Tensor::f32([3], [0.0; 3])),
        (b, Tensor::f32([1], [0.0])),
    ];
    let state = start(&training, &given);
    (training, state)
}

#[test]
fn gradient_descent_on_a_regression_reduces_the_loss() {
    for (loss, share) in [("mse", 0.02), ("mae", 0.5), ("huber", 0.1)] {
        let (training, mut state) = linear_regression(Loss::parse(loss).unwrap());
        let losses: Vec<f64> = (1..=40).map(|number| step(&training, &mut state, number)).collect();
        assert!(losses[39] < share * losses[0], "{loss}: {losses:?}");
        assert!(losses[0] > losses[1] && losses[1] > losses[2], "{loss}: {losses:?}");
    }
}

/// One parameter `p` that starts at 1 and is itself the prediction for the target 0: the mean squared error is `p^2`
/// and the gradient `2 p`. Gives the parameter after each of two steps.
fn two_steps(optimizer: Optimizer, learning_rate: f64) -> [f64; 2] {
    let mut graph = Graph::new("a parabola");
    let layer = graph.add_layer("identity");
    let x = graph.add_input("x", TensorType::f32([1])).unwrap();
    let p = parameter(&mut graph, "p", &[1]);
    let y = graph.add_single(Binary::Multiply.into(), &[x, p], Site::forward(layer)).unwrap();
    graph.add_output(y);
    let training = training_graph(graph, &Loss::MeanSquaredError.into(), optimizer).unwrap();
    let given = [
        (training.inputs[0], Tensor::f32([1], [1.0])),
        (training.heads[0].targets, Tensor::f32([1], [0.0])),
        (training.learning_rate, Tensor::f32([], [learning_rate])),
        (p, Tensor::f32([1], [1.0])),
    ];
    let mut state = start(&training, &given);
    [1, 2].map(|number| {
        step(&training, &mut state, number);
        state[&p].data[0]
    })
}

#[test]
fn the_first_two_steps_are_those_of_keras() {
    // By hand, with lr = 0.1 and g = 2 p. SGD: 1 - 0.2, then 0.8 - 0.16.
    // Momentum: m = -0.2, p = 0.8; m = 0.9 (-0.2) - 0.16 = -0.34, p = 0.46.
    // Nesterov: m = -0.2, p = 1 - 0.18 - 0.2 = 0.62; m = -0.18 - 0.124 = -0.304, p = 0.62 - 0.2736 - 0.124.
    // RMSprop: v = 0.4, p = 1 - 0.2 / sqrt(0.4 + 1e-7); the second step in the same words below.
    // Adam: the first step is lr, whatever the gradient: m = 0.2, v = 0.004, and the second follows from
    // g = 1.8: m = 0.36, v = 0.007236, alpha = 0.1 sqrt(1 - 0.999^2) / (1 - 0.9^2).
    // AdamW: the same after p -= 0.1 0.004 p.
    let first = 1.0 - 0.2 / (0.4f64 + 1e-7).sqrt();
    let g = 2.0 * first;
    let rms = [first, first - 0.1 * g / (0.9 * 0.4 + 0.1 * g * g + 1e-7).sqrt()];
    let alpha = 0.1 * (1.0 - 0.999f64 * 0.999).sqrt() / (1.0 - 0.81);
    let adam = [0.9, 0.9 - alpha * 0.36 / (0.007236f64.sqrt() + 1e-7)];
    let decayed = 1.0 - 0.1 * 0.004 - 0.1;
    let g = 2.0 * decayed;
    let (m, v) = (0.2 + (g - 0.2) * 0.1, 0.004 + (g * g - 0.004) * 0.001);
    let adamw = [decayed, decayed * (1.0 - 0.1 * 0.004) - alpha * m / (v.sqrt() + 1e-7)];
    let cases = [
        ("sgd", [0.8, 0.64]),
        ("momentum", [0.8, 0.46]),
        ("nesterov", [0.62, 0.2224]),
        ("rmsprop", rms),
        ("adam", adam),
        ("adamw", adamw),
    ];
    for (name, wanted) in cases {
        let found = two_steps(Optimizer::parse(name).unwrap(), 0.1);
        for (found, wanted) in found.iter().zip(wanted) {
            // Hyperparameters are float32, so 0.999 is not quite 0.999.
            assert!((found - wanted).abs() < 2e-6, "{name}: {found}, not {wanted}");
        }
    }
}
