//! The training graph: everything one step does.
//!
//! In: the forward graph of a model, whose first output are the predictions and whose input is called `x`.
//! Out: the same graph with the loss, the gradients of all parameters and their updates.
//! Invariant: every parameter is updated exactly once.

use crate::{Gate, Loss, Optimizer, TrainError, differentiate};
use plimsoll_graph::{Graph, Init, Phase, Role, Site, TensorType, ValueId};

/// A graph that trains, and the values a training loop deals with.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingGraph {
    /// Everything one step does; its outputs are the loss and, if there is one, the accuracy.
    pub graph: Graph,
    /// The examples: the input `x`.
    pub input: ValueId,
    /// The truth about them: the input `targets`.
    pub targets: ValueId,
    /// The number of the step, counted from 1: the input `step`, `i32[]`.
    pub step: ValueId,
    /// The input `learning_rate`, `f32[]`.
    pub learning_rate: ValueId,
    /// What the model says; not kept after the step.
    pub predictions: ValueId,
    /// The mean loss of the batch.
    pub loss: ValueId,
    /// The share of right predictions, for cross-entropy losses.
    pub accuracy: Option<ValueId>,
    /// What says whether the updates of a step happened, if they can be skipped.
    pub gate: Option<Gate>,
}

impl TrainingGraph {
    /// The same with another graph, in which `values` says what stands for each value of this one.
    ///
    /// # Panics
    /// If nothing stands for a value that a training loop deals with.
    pub fn rewritten(&self, graph: Graph, values: &[Option<ValueId>]) -> Self {
        let now = |id: ValueId| values[id.index()].expect("a step needs this value");
        Self {
            graph,
            input: now(self.input),
            targets: now(self.targets),
            step: now(self.step),
            learning_rate: now(self.learning_rate),
            predictions: now(self.predictions),
            loss: now(self.loss),
            accuracy: self.accuracy.map(now),
            gate: self.gate.map(|gate| Gate { finite: now(gate.finite), updates: gate.updates.map(now) }),
        }
    }
}

/// Adds a loss, gradients and updates to a forward graph.
pub fn training_graph(forward: Graph, loss: Loss, optimizer: Optimizer) -> Result<TrainingGraph, TrainError> {
    let (mut training, gradients) = differentiated(forward, loss)?;
    let (learning_rate, step) = (training.learning_rate, training.step);
    let names = optimizer.slots().iter().map(|slot| optimizer.slot_name(slot));
    let prefixes: Vec<String> = names.map(|name| training.graph.free_prefix(&name)).collect();
    for (parameter, gradient) in gradients {
        let inputs = [parameter, gradient, learning_rate, step];
        add_update(&mut training.graph, optimizer, &prefixes, inputs)?;
    }
    Ok(training)
}

/// Adds a loss and gradients to a forward graph; gives each parameter with its gradient.
pub(crate) fn differentiated(
    forward: Graph,
    loss: Loss,
) -> Result<(TrainingGraph, Vec<(ValueId, ValueId)>), TrainError> {
    let mut graph = forward;
    let predictions = *graph.take_outputs().first().ok_or(TrainError::NoOutput)?;
    let input = graph.inputs().find(|&id| graph.value(id).name == "x").ok_or(TrainError::NoInput)?;
    let parameters: Vec<ValueId> =
        graph.persistents().filter(|&id| graph.value(id).role == Role::Parameter).collect();
    if parameters.is_empty() {
        return Err(TrainError::NoParameters);
    }
    let step = step_input(&mut graph)?;
    let learning_rate = graph.add_input(graph.free_name("learning_rate"), TensorType::f32([]))?;
    let added = loss.add_to(&mut graph, predictions)?;
    graph.add_output(added.loss);
    added.accuracy.into_iter().for_each(|accuracy| graph.add_output(accuracy));
    let mut gradients = Vec::with_capacity(parameters.len());
    let found = differentiate(&mut graph, added.loss, &parameters)?;
    for (&parameter, gradient) in parameters.iter().zip(found) {
        let unused = || TrainError::UnusedParameter { name: graph.value(parameter).name.clone() };
        gradients.push((parameter, gradient.ok_or_else(unused)?));
    }
    let (targets, loss, accuracy) = (added.targets, added.loss, added.accuracy);
    let gate = None;
    let training =
        TrainingGraph { graph, input, targets, step, learning_rate, predictions, loss, accuracy, gate };
    Ok((training, gradients))
}

/// The number of the step: the one dropout already reads, or a new input. It is the only integer a forward pass reads that is not one
/// a sample.
fn step_input(graph: &mut Graph) -> Result<ValueId, TrainError> {
    let wanted = TensorType::i32([]);
    let found = graph.inputs().find(|&id| *graph.tensor(id) == wanted);
    match found {
        Some(step) => Ok(step),
        None => Ok(graph.add_input(graph.free_name("step"), wanted)?),
    }
}

/// Appends the update of one parameter, with the slots it needs, whose names begin as given.
fn add_update(
    graph: &mut Graph,
    optimizer: Optimizer,
    prefixes: &[String],
    inputs: [ValueId; 4],
) -> Result<(), TrainError> {
    let parameter = graph.value(inputs[0]).clone();
    let mut inputs = inputs.to_vec();
    for prefix in prefixes {
        let name = format!("{prefix}{}", parameter.name);
        let tensor = TensorType::f32(parameter.tensor.shape.clone());
        let zero = Init::Constant(0.0);
        inputs.push(graph.add_persistent(name, tensor, Role::OptimizerState, zero, parameter.layer)?);
    }
    let site = Site { layer: parameter.layer, phase: Phase::Update };
    graph.add_op(optimizer.update().into(), &inputs, site)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_graph::op::{BiasAdd, Binary, Dropout, Reduce, Reduction, Reshape, Unary};
    use plimsoll_graph::{OpKind, Source, text, verify};

    /// A dense layer said with the ops of this directory: multiply, then sum over the inputs.
    fn dense(graph: &mut Graph, x: ValueId, name: &str, units: usize) -> ValueId {
        let [batch, features] = graph.tensor(x).shape.extents().try_into().unwrap();
        let layer = graph.add_layer(name);
        let mut parameter = |what: &str, shape: &[usize]| {
            let tensor = TensorType::f32(plimsoll_graph::Shape::new(shape));
            let name = format!("{name}/{what}");
            graph.add_persistent(name, tensor, Role::Parameter, Init::Uniform(0.1), Some(layer)).unwrap()
        };
        let (kernel, bias) = (parameter("kernel", &[features, units]), parameter("bias", &[units]));
        let site = Site::forward(layer);
        let mut add = |kind: OpKind, inputs: &[ValueId]| graph.add_single(kind, inputs, site).unwrap();
        let column = add(Reshape { shape: [batch, features, 1].into() }.into(), &[x]);
        let products = add(Binary::Multiply.into(), &[column, kernel]);
        let sum = Reduce { reduction: Reduction::Sum, axes: vec![1], keep_axes: false };
        let sum = add(sum.into(), &[products]);
        add(BiasAdd {}.into(), &[sum, bias])
    }

    fn perceptron() -> Graph {
        let mut graph = Graph::new("mlp");
        let x = graph.add_input("x", TensorType::f32([4, 5])).unwrap();
        let hidden = dense(&mut graph, x, "hidden", 7);
        let layer = graph.add_layer("relu");
        let hidden = graph.add_single(Unary::Relu.into(), &[hidden], Site::forward(layer)).unwrap();
        let logits = dense(&mut graph, hidden, "head", 3);
        graph.add_output(logits);
        graph
    }

    const LOGITS: Loss = Loss::SparseCategoricalCrossEntropy { from_logits: true };

    const ALL_LOSSES: [&str; 6] = [
        "sparse_categorical_crossentropy(from_logits=True)",
        "categorical_crossentropy",
        "binary_crossentropy",
        "mse",
        "mae",
        "huber",
    ];

    #[test]
    fn training_graphs_verify_and_round_trip() {
        for optimizer in Optimizer::DEFAULTS {
            for loss in ALL_LOSSES {
                let loss = Loss::parse(loss).unwrap();
                let training = training_graph(perceptron(), loss, optimizer).unwrap();
                verify(&training.graph).unwrap();
                assert_eq!(text::parse(&text::print(&training.graph)).unwrap(), training.graph);
                assert_eq!(training.graph.tensor(training.loss), &TensorType::f32([]));
            }
        }
    }

    #[test]
    fn every_parameter_is_updated_exactly_once() {
        for optimizer in Optimizer::DEFAULTS {
            let training = training_graph(perceptron(), LOGITS, optimizer).unwrap();
            let graph = &training.graph;
            let updates: Vec<_> =
                graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Update(_))).collect();
            let mut updated: Vec<&str> =
                updates.iter().map(|op| graph.value(op.inputs[0]).name.as_str()).collect();
            updated.sort_unstable();
            assert_eq!(updated, ["head/bias", "head/kernel", "hidden/bias", "hidden/kernel"]);
            for op in updates {
                assert_eq!(op.phase, Phase::Update);
                assert_eq!(op.layer, graph.value(op.inputs[0]).layer);
            }
        }
    }

    #[test]
    fn the_values_a_training_loop_deals_with_have_their_names() {
        let optimizer = Optimizer::parse("adam").unwrap();
        let training = training_graph(perceptron(), LOGITS, optimizer).unwrap();
        let name = |id: ValueId| training.graph.value(id).name.as_str();
        assert_eq!(name(training.input), "x");
        assert_eq!(name(training.targets), "targets");
        assert_eq!(name(training.step), "step");
        assert_eq!(name(training.learning_rate), "learning_rate");
        assert_eq!(name(training.loss), "loss");
        assert_eq!(name(training.accuracy.unwrap()), "accuracy");
        assert_eq!(training.graph.outputs(), [training.loss, training.accuracy.unwrap()]);
        let slot = training.graph.find("adam/v/head/kernel").unwrap();
        assert_eq!(training.graph.value(slot).role, Role::OptimizerState);
        assert_eq!(training.graph.value(slot).source, Source::Persistent(Init::Constant(0.0)));
        assert_eq!(training.graph.elements_of(Role::OptimizerState), 2 * (5 * 7 + 7 + 7 * 3 + 3));
    }

    #[test]
    fn a_step_that_dropout_reads_is_used_again() {
        let mut graph = perceptron();
        let layer = graph.add_layer("dropout");
        let step = graph.add_input("step", TensorType::i32([])).unwrap();
        let logits = graph.take_outputs()[0];
        let dropout = Dropout { rate: 0.5, seed: 1 };
        let dropped = graph.add_single(dropout.into(), &[logits, step], Site::forward(layer)).unwrap();
        graph.add_output(dropped);
        let training = training_graph(graph, LOGITS, Optimizer::Sgd).unwrap();
        verify(&training.graph).unwrap();
        assert_eq!(training.step, step);
        assert_eq!(training.predictions, dropped);
    }

    #[test]
    fn nothing_a_model_calls_its_own_is_refused() {
        let mut graph = perceptron();
        let hostile =
            ["targets", "step", "learning_rate", "loss", "adam/m", "adam/m/head/kernel", "adam/v_2/"];
        for name in hostile {
            graph.add_input(name, TensorType::f32([4])).unwrap();
        }
        let adam = Optimizer::parse("adam").unwrap();
        let training = training_graph(graph, LOGITS, adam).unwrap();
        verify(&training.graph).unwrap();
        assert_eq!(training.graph.value(training.targets).name, "targets_2");
        for name in ["adam/m_2/head/kernel", "adam/v/head/kernel"] {
            let slot = training.graph.find(name).unwrap();
            assert_eq!(training.graph.value(slot).role, Role::OptimizerState, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_trained_is_an_error() {
        let train = |graph: Graph| training_graph(graph, LOGITS, Optimizer::Sgd).unwrap_err();
        let mut graph = perceptron();
        graph.take_outputs();
        assert_eq!(train(graph), TrainError::NoOutput);

        let mut graph = Graph::new("nothing to learn");
        let x = graph.add_input("x", TensorType::f32([2, 3])).unwrap();
        graph.add_output(x);
        assert_eq!(train(graph), TrainError::NoParameters);

        let mut graph = perceptron();
        let x = graph.find("x").unwrap();
        graph.rename(x, "image");
        assert_eq!(train(graph), TrainError::NoInput);

        let mut graph = perceptron();
        let idle = TensorType::f32([2]);
        graph.add_persistent("idle", idle, Role::Parameter, Init::Constant(0.0), None).unwrap();
        assert_eq!(train(graph), TrainError::UnusedParameter { name: "idle".to_string() });

        let mut graph = perceptron();
        let logits = graph.take_outputs()[0];
        let site = Site { layer: None, phase: Phase::Forward };
        let sum = graph.add_single(Reduce::all(Reduction::Sum, 2).into(), &[logits], site).unwrap();
        graph.add_output(sum);
        assert_eq!(train(graph), TrainError::ScalarPredictions);
    }
}
