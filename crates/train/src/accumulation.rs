//! A step in parts: gradients of a batch's parts are added up, then applied at once.
//!
//! Two graphs instead of one. The accumulating graph, lowered at the size of a part, ends in
//! `accumulator += weight * gradient` where the training graph has its updates; the applying graph consists of these
//! updates, with the accumulators as gradients. With the weights `rows of the part / rows of the batch` the sum is the
//! gradient of the batch's mean loss, unless samples of a batch see each other ([`plimsoll_graph::samples`]).
//!
//! No op of its own is needed: gradient descent with the learning rate `-weight` is an accumulation.

use crate::training::{Differentiated, Share, differentiated};
use crate::update::{Rows, SlotNames, Trained, add_updates, scale};
use crate::{Descent, Gate, Objective, TrainError, TrainingGraph};
use plimsoll_graph::op::{Binary, Rule, Unary};
use plimsoll_graph::{Graph, Init, Phase, Role, Site, Source, TensorType, ValueId};

/// A graph that updates all parameters from accumulated gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyingGraph {
    /// The updates.
    pub graph: Graph,
    /// The number of the update, counted from 1: the input `step`, `i32[]`.
    pub step: ValueId,
    /// The input `learning_rate`, `f32[]`.
    pub learning_rate: ValueId,
    /// What says whether the updates happened, if they can be skipped.
    pub gate: Option<Gate>,
}

/// Adds a loss, gradients and their accumulation to a forward graph. The caller writes *minus* the weight of the part
/// to `learning_rate`, and zeros to the accumulators before the first part. Moving averages are updated by every part.
pub fn accumulating_graph(
    forward: Graph,
    objective: &Objective,
    descent: &Descent,
) -> Result<TrainingGraph, TrainError> {
    let Differentiated { mut training, trained, .. } =
        differentiated(forward, objective, descent, Share::Part)?;
    let (weight, step) = (training.learning_rate, training.step);
    let prefixes = Prefixes::of(&training.graph);
    let graph = &mut training.graph;
    for Trained { parameter, gradient, rows, .. } in trained {
        let site = Site { layer: graph.value(parameter).layer, phase: Phase::Update };
        let add_up = |graph: &mut Graph, what: &str, part: ValueId| {
            let sum = add_accumulator(graph, parameter, what)?;
            graph.add_op(Rule::Sgd.into(), &[sum, part, weight, step], site).map_err(TrainError::from)
        };
        add_up(graph, &prefixes.gradients, gradient)?;
        if let Some(squares) = rows.squares {
            // The weight of a part counts twice in its squares.
            let weight = graph.add_single(Unary::Negate.into(), &[weight], site)?;
            let squares = graph.add_single(Binary::Multiply.into(), &[squares, weight], site)?;
            add_up(graph, &prefixes.squares, squares)?;
        }
        if let Some(absolutes) = rows.absolutes {
            add_up(graph, &prefixes.absolutes, absolutes)?;
        }
    }
    Ok(training)
}

/// The updates of a training graph, applied to accumulated gradients.
pub fn applying_graph(training: &TrainingGraph, descent: &Descent) -> Result<ApplyingGraph, TrainError> {
    let mut graph = Graph::new(training.graph.name());
    let prefixes = Prefixes::of(&training.graph);
    let step = graph.add_input("step", TensorType::i32([]))?;
    let learning_rate = graph.add_input("learning_rate", TensorType::f32([]))?;
    let mut trained = Vec::with_capacity(training.sums.len());
    for sums in &training.sums {
        let value = training.graph.value(sums.parameter);
        let layer = value.layer.map(|layer| graph.add_layer(training.graph.layer_name(layer)));
        let Source::Persistent(init) = value.source else { unreachable!("updates replace what persists") };
        let parameter =
            graph.add_persistent(value.name.clone(), value.tensor.clone(), value.role, init, layer)?;
        let mut sum = |wanted: bool, prefix: &str| match wanted {
            true => add_accumulator(&mut graph, parameter, prefix).map(Some),
            false => Ok(None),
        };
        let gradient = sum(true, &prefixes.gradients)?.expect("it is wanted");
        let squares = sum(sums.squares, &prefixes.squares)?;
        let absolutes = sum(sums.absolutes, &prefixes.absolutes)?;
        let rows = Rows { squares, absolutes };
        trained.push(Trained { parameter, gradient, rows, clipped: sums.clipped });
    }
    let names = SlotNames::of_model(&training.graph, descent);
    let scale = scale(&mut graph, descent, &names)?;
    add_updates(&mut graph, descent, trained, [learning_rate, step], scale, &names)?;
    Ok(ApplyingGraph { graph, step, learning_rate, gate: None })
}

/// The persistent values in which gradients are added up.
pub fn accumulators(graph: &Graph) -> impl Iterator<Item = ValueId> + '_ {
    graph.persistents().filter(|&id| graph.value(id).role == Role::Accumulator)
}

/// What the names of accumulators begin with; the same for all graphs of one model.
struct Prefixes {
    gradients: String,
    squares: String,
    absolutes: String,
}

impl Prefixes {
    fn of(graph: &Graph) -> Self {
        Self {
            gradients: graph.free_prefix("accumulated"),
            squares: graph.free_prefix("accumulated_squares"),
            absolutes: graph.free_prefix("accumulated_absolutes"),
        }
    }
}

fn add_accumulator(graph: &mut Graph, parameter: ValueId, prefix: &str) -> Result<ValueId, TrainError> {
    let value = graph.value(parameter).clone();
    let name = format!("{prefix}{}", value.name);
    let tensor = TensorType::f32(value.tensor.shape);
    let zero = Init::Constant(0.0);
    Ok(graph.add_persistent(name, tensor, Role::Accumulator, zero, value.layer)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loss, Optimizer, training_graph};
    use plimsoll_graph::op::{BiasAdd, MatMul};
    use plimsoll_graph::{OpKind, verify};

    fn forward(batch: usize) -> Graph {
        let mut graph = Graph::new("two parameters");
        let x = graph.add_input("x", TensorType::f32([batch, 3])).unwrap();
        let layer = graph.add_layer("dense");
        let mut parameter = |name: &str, shape: &[usize]| {
            let tensor = TensorType::f32(plimsoll_graph::Shape::new(shape));
            graph.add_persistent(name, tensor, Role::Parameter, Init::Uniform(0.1), Some(layer)).unwrap()
        };
        let (kernel, bias) = (parameter("kernel", &[3, 2]), parameter("bias", &[2]));
        let site = Site::forward(layer);
        let y = graph.add_single(MatMul::default().into(), &[x, kernel], site).unwrap();
        let y = graph.add_single(BiasAdd {}.into(), &[y, bias], site).unwrap();
        graph.add_output(y);
        graph
    }

    #[test]
    fn both_graphs_verify_and_name_the_same_values() {
        for optimizer in Optimizer::DEFAULTS {
            let whole = training_graph(forward(8), &Loss::MeanSquaredError.into(), optimizer).unwrap();
            let descent = optimizer.into();
            let part = accumulating_graph(forward(3), &Loss::MeanSquaredError.into(), &descent).unwrap();
            let apply = applying_graph(&whole, &descent).unwrap();
            verify(&part.graph).unwrap();
            verify(&apply.graph).unwrap();
            let updates = |graph: &Graph, role: Role| {
                let updates = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Update(_)));
                updates.filter(|op| graph.value(op.inputs[0]).role == role).count()
            };
            assert_eq!([&whole.graph, &apply.graph].map(|graph| updates(graph, Role::Parameter)), [2; 2]);
            assert_eq!(updates(&part.graph, Role::Accumulator), 2);
            let names = |graph: &Graph| {
                let named = accumulators(graph).map(|id| graph.value(id).name.clone());
                named.collect::<Vec<_>>()
            };
            assert_eq!(names(&part.graph), names(&apply.graph));
            assert_eq!(names(&part.graph).len(), 2);
            for id in whole.graph.persistents() {
                let value = whole.graph.value(id);
                let copy = apply.graph.find(&value.name).expect("it is updated");
                assert_eq!(apply.graph.tensor(copy), &value.tensor);
            }
        }
    }
}
