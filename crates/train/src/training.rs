//! The training graph: everything one step does.
//!
//! In: the forward graph of a model and an objective: which of its outputs are trained, and towards what. Out: the same
//! graph with the losses, the gradients of the parameters and their updates. Invariant: every parameter that the loss
//! depends on is updated exactly once. The others stay as they are, as in Keras.

use crate::head::{Purpose, add_losses};
use crate::penalties::add_penalties;
use crate::predicted::{Taken, take_outputs};
use crate::update::{OfRows, SlotNames, Trained, add_updates, find_rows, row_limit, scaled_loss};
use crate::{Descent, Gate, HeadValues, Objective, TrainError, differentiate};
use plimsoll_graph::{Graph, Role, Shape, TensorType, ValueId};

/// A graph that trains, and the values a training loop deals with.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingGraph {
    /// Everything one step does; its outputs are the total loss, and the loss and the accuracy of each head.
    pub graph: Graph,
    /// The samples: all inputs of the model.
    pub inputs: Vec<ValueId>,
    /// Each output that is trained.
    pub heads: Vec<HeadValues>,
    /// The number of the step, counted from 1: the input `step`, `i32[]`.
    pub step: ValueId,
    /// The input `learning_rate`, `f32[]`.
    pub learning_rate: ValueId,
    /// The mean loss of the batch: of the only head, or the weighted sum over the heads, with the model's penalties.
    pub loss: ValueId,
    /// What says whether the updates of a step happened, if they can be skipped.
    pub gate: Option<Gate>,
    /// Parameters that the loss does not depend on; they stay as they are.
    pub idle: Vec<ValueId>,
    /// The others, in their order.
    pub(crate) sums: Vec<Sums>,
}

/// A parameter that is trained, and which sums over the rows of its gradient are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) parameter: ValueId,
    pub(crate) squares: bool,
    pub(crate) absolutes: bool,
    /// Whether its elements were clipped before they were added up.
    pub(crate) clipped: bool,
}

/// How much of a batch a graph is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// All of it.
    Whole,
    /// A part, whose weight the caller writes to `learning_rate`, with a minus.
    Part,
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
            inputs: self.inputs.iter().copied().map(now).collect(),
            heads: self.heads.iter().map(|head| head.rewritten(&now)).collect(),
            step: now(self.step),
            learning_rate: now(self.learning_rate),
            loss: now(self.loss),
            gate: self.gate.map(|gate| Gate { finite: now(gate.finite), updates: gate.updates.map(now) }),
            idle: self.idle.iter().filter_map(|id| values[id.index()]).collect(),
            sums: self.sums.iter().map(|sums| Sums { parameter: now(sums.parameter), ..*sums }).collect(),
        }
    }
}

/// Adds a loss, gradients and updates to a forward graph.
pub fn training_graph(
    forward: Graph,
    objective: &Objective,
    descent: impl Into<Descent>,
) -> Result<TrainingGraph, TrainError> {
    let descent = descent.into();
    let Differentiated { mut training, trained, scale } =
        differentiated(forward, objective, &descent, Share::Whole)?;
    let scalars = [training.learning_rate, training.step];
    let names = SlotNames::of_model(&training.graph, &descent);
    add_updates(&mut training.graph, &descent, trained, scalars, scale, &names)?;
    Ok(training)
}

/// A training graph without updates.
pub(crate) struct Differentiated {
    pub(crate) training: TrainingGraph,
    pub(crate) trained: Vec<Trained>,
    /// What the loss was multiplied by.
    pub(crate) scale: Option<ValueId>,
}

/// Adds losses and gradients to a forward graph.
pub(crate) fn differentiated(
    forward: Graph,
    objective: &Objective,
    descent: &Descent,
    share: Share,
) -> Result<Differentiated, TrainError> {
    let Taken { mut graph, predicted, penalties } = take_outputs(forward, objective, Purpose::Training)?;
    let inputs = sample_inputs(&graph)?;
    let parameters: Vec<ValueId> =
        graph.persistents().filter(|&id| graph.value(id).role == Role::Parameter).collect();
    if parameters.is_empty() {
        return Err(TrainError::NoParameters);
    }
    let step = step_input(&mut graph)?;
    let learning_rate = graph.add_input(graph.free_name("learning_rate"), TensorType::f32([]))?;
    let (heads, loss) = add_losses(&mut graph, &predicted, objective, Purpose::Training)?;
    let loss = add_penalties(&mut graph, loss, &penalties)?;
    add_scalars(&mut graph, loss, &heads);
    let names = SlotNames::of_model(&graph, descent);
    let (scaled, scale) = scaled_loss(&mut graph, descent, loss, &names)?;
    let found = differentiate(&mut graph, scaled, &parameters)?;
    let minus_weight = Some(learning_rate).filter(|_| share == Share::Part);
    let limit = row_limit(&mut graph, descent, scale, minus_weight)?;
    let (mut trained, mut idle) = (Vec::with_capacity(parameters.len()), Vec::new());
    for (parameter, gradient) in parameters.into_iter().zip(found) {
        match gradient {
            Some(gradient) => {
                let OfRows { gradient, rows, clipped } =
                    find_rows(&mut graph, descent, parameter, gradient, limit)?;
                trained.push(Trained { parameter, gradient, rows, clipped });
            }
            None => idle.push(parameter),
        }
    }
    if trained.is_empty() {
        return Err(TrainError::NothingLearned);
    }
    let sums = trained.iter().map(Sums::of).collect();
    let training = TrainingGraph { graph, inputs, heads, step, learning_rate, loss, gate: None, idle, sums };
    Ok(Differentiated { training, trained, scale })
}

impl Sums {
    fn of(trained: &Trained) -> Self {
        let Trained { parameter, rows, clipped, .. } = *trained;
        Self { parameter, squares: rows.squares.is_some(), absolutes: rows.absolutes.is_some(), clipped }
    }
}

/// The inputs of a forward graph that samples are written to: all but the number of the step.
pub(crate) fn sample_inputs(graph: &Graph) -> Result<Vec<ValueId>, TrainError> {
    let inputs: Vec<ValueId> = graph.inputs().filter(|&id| !is_step(graph, id)).collect();
    match inputs.iter().all(|&id| graph.tensor(id).shape != Shape::scalar()) && !inputs.is_empty() {
        true => Ok(inputs),
        false => Err(TrainError::NoInput),
    }
}

/// Lets the caller read the total and what each head says; the loss of an only head may be the total.
pub(crate) fn add_scalars(graph: &mut Graph, total: ValueId, heads: &[HeadValues]) {
    graph.add_output(total);
    for head in heads {
        let loss = Some(head.loss).filter(|&loss| loss != total);
        loss.into_iter().chain(head.accuracy).for_each(|value| graph.add_output(value));
    }
}

/// Whether a value is the counter of steps, which has no samples.
fn is_step(graph: &Graph, id: ValueId) -> bool {
    *graph.tensor(id) == TensorType::i32([])
}

/// The number of the step: the one dropout already reads, or a new input. It is the only integer a forward pass reads
/// that is not one a sample.
fn step_input(graph: &mut Graph) -> Result<ValueId, TrainError> {
    let found = graph.inputs().find(|&id| is_step(graph, id));
    match found {
        Some(step) => Ok(step),
        None => Ok(graph.add_input(graph.free_name("step"), TensorType::i32([]))?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Head, Loss, Optimizer};
    use plimsoll_graph::op::{BiasAdd, Binary, Dropout, Reduce, Reduction, Reshape, Unary};
    use plimsoll_graph::{Init, OpKind, Phase, Site, Source, text, verify};

    /// A dense layer said with the ops of this directory: multiply, then sum over the inputs.
    fn dense(graph: &mut Graph, x: ValueId, name: &str, units: usize) -> ValueId {
        let [batch, features] = graph.tensor(x).shape.extents().try_into().unwrap();
        let layer = graph.add_layer(name);
        let mut parameter = |what: &str, shape: &[usize]| {
            let tensor = TensorType::f32(Shape::new(shape));
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

    /// Two inputs, two heads of their own parameters, and one they share.
    fn forked() -> Graph {
        let mut graph = Graph::new("fork");
        let left = graph.add_input("left", TensorType::f32([4, 5])).unwrap();
        let right = graph.add_input("right", TensorType::f32([4, 5])).unwrap();
        let layer = graph.add_layer("add");
        let sum = graph.add_single(Binary::Add.into(), &[left, right], Site::forward(layer)).unwrap();
        let shared = dense(&mut graph, sum, "shared", 6);
        let class = dense(&mut graph, shared, "class", 3);
        let age = dense(&mut graph, shared, "age", 1);
        graph.add_output(class);
        graph.add_output(age);
        graph
    }

    fn two_heads() -> Objective {
        let age = Head { sample_weights: true, ..Head::new(1, "age", Loss::MeanSquaredError).weighted(0.5) };
        Objective { heads: vec![Head::new(0, "class", LOGITS), age] }
    }

    #[test]
    fn every_input_and_every_head_is_told() {
        let training = training_graph(forked(), &two_heads(), Optimizer::Sgd).unwrap();
        verify(&training.graph).unwrap();
        assert_eq!(text::parse(&text::print(&training.graph)).unwrap(), training.graph);
        let name = |id: ValueId| training.graph.value(id).name.as_str();
        assert_eq!(training.inputs.iter().map(|&id| name(id)).collect::<Vec<_>>(), ["left", "right"]);
        let [class, age] = &training.heads[..] else { panic!("it has two heads") };
        assert_eq!([name(class.targets), name(age.targets)], ["targets/class", "targets/age"]);
        assert_eq!((class.sample_weights, name(age.sample_weights.unwrap())), (None, "sample_weight/age"));
        assert_eq!(
            [name(class.loss), name(age.loss), name(training.loss)],
            ["loss/class", "loss/age", "loss"]
        );
        assert_eq!((class.accuracy.map(name), age.accuracy), (Some("accuracy/class"), None));
        assert!(training.idle.is_empty());
        let written = training.inputs.iter().copied().chain([training.step, training.learning_rate]);
        let heads = training.heads.iter().flat_map(|head| [Some(head.targets), head.sample_weights]);
        let mut written: Vec<ValueId> = written.chain(heads.flatten()).collect();
        written.sort_unstable();
        assert_eq!(written, training.graph.inputs().collect::<Vec<_>>(), "no input is forgotten");
    }

    #[test]
    fn an_output_without_a_loss_leaves_its_parameters_alone() {
        let one = Objective { heads: vec![Head::new(1, "age", Loss::MeanSquaredError)] };
        let training = training_graph(forked(), &one, Optimizer::Sgd).unwrap();
        verify(&training.graph).unwrap();
        let name = |id: &ValueId| training.graph.value(*id).name.as_str();
        assert_eq!(training.idle.iter().map(name).collect::<Vec<_>>(), ["class/kernel", "class/bias"]);
        let updates = training.graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Update(_)));
        let updated: Vec<&str> = updates.map(|op| name(&op.inputs[0])).collect();
        assert!(!updated.iter().any(|name| name.starts_with("class")), "{updated:?}");
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
                let training = training_graph(perceptron(), &loss.into(), optimizer).unwrap();
                verify(&training.graph).unwrap();
                assert_eq!(text::parse(&text::print(&training.graph)).unwrap(), training.graph);
                assert_eq!(training.graph.tensor(training.loss), &TensorType::f32([]));
            }
        }
    }

    fn updates_parameter(graph: &Graph, op: &plimsoll_graph::Op) -> bool {
        matches!(op.kind, OpKind::Update(_)) && graph.value(op.inputs[0]).role == Role::Parameter
    }

    #[test]
    fn every_parameter_is_updated_exactly_once() {
        for optimizer in Optimizer::DEFAULTS {
            let training = training_graph(perceptron(), &LOGITS.into(), optimizer).unwrap();
            let graph = &training.graph;
            let updates: Vec<_> = graph.ops().iter().filter(|op| updates_parameter(graph, op)).collect();
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
        let training = training_graph(perceptron(), &LOGITS.into(), optimizer).unwrap();
        let name = |id: ValueId| training.graph.value(id).name.as_str();
        assert_eq!(training.inputs.iter().map(|&id| name(id)).collect::<Vec<_>>(), ["x"]);
        let [head] = &training.heads[..] else { panic!("it has one head") };
        assert_eq!(name(head.targets), "targets");
        assert_eq!(head.loss, training.loss);
        assert_eq!(name(training.step), "step");
        assert_eq!(name(training.learning_rate), "learning_rate");
        assert_eq!(name(training.loss), "loss");
        assert_eq!(name(head.accuracy.unwrap()), "accuracy");
        assert_eq!(training.graph.outputs(), [training.loss, head.accuracy.unwrap()]);
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
        let training = training_graph(graph, &LOGITS.into(), Optimizer::Sgd).unwrap();
        verify(&training.graph).unwrap();
        assert_eq!(training.step, step);
        assert_eq!(training.heads[0].predictions, dropped);
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
        let training = training_graph(graph, &LOGITS.into(), adam).unwrap();
        verify(&training.graph).unwrap();
        assert_eq!(training.graph.value(training.heads[0].targets).name, "targets_2");
        for name in ["adam/m_2/head/kernel", "adam/v/head/kernel"] {
            let slot = training.graph.find(name).unwrap();
            assert_eq!(training.graph.value(slot).role, Role::OptimizerState, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_trained_is_an_error() {
        let train = |graph: Graph| training_graph(graph, &LOGITS.into(), Optimizer::Sgd).unwrap_err();
        let mut graph = perceptron();
        graph.take_outputs();
        assert_eq!(train(graph), TrainError::NoOutput);

        let mut graph = Graph::new("nothing to learn");
        let x = graph.add_input("x", TensorType::f32([2, 3])).unwrap();
        graph.add_output(x);
        assert_eq!(train(graph), TrainError::NoParameters);

        let mut graph = perceptron();
        graph.add_input("scalar", TensorType::f32([])).unwrap();
        assert_eq!(train(graph), TrainError::NoInput);

        let mut graph = perceptron();
        let logits = graph.take_outputs()[0];
        let site = Site { layer: None, phase: Phase::Forward };
        let sum = graph.add_single(Reduce::all(Reduction::Sum, 2).into(), &[logits], site).unwrap();
        graph.add_output(sum);
        assert_eq!(train(graph), TrainError::ScalarPredictions);
    }
}
