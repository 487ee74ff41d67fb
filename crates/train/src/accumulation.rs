//! A step in parts: gradients of a batch's parts are added up, then applied at once.
//!
//! Two graphs instead of one. The accumulating graph, lowered at the size of a part, ends in
//! `accumulator += weight * gradient` where the training graph has its updates; the applying graph consists of these
//! updates, with the accumulators as gradients. With the weights `rows of the part / rows of the batch` the sum is the
//! gradient of the batch's mean loss, unless samples of a batch see each other ([`plimsoll_graph::samples`]).
//!
//! No op of its own is needed: gradient descent with the learning rate `-weight` is an accumulation.

use crate::training::differentiated;
use crate::{Gate, Objective, TrainError, TrainingGraph};
use plimsoll_graph::op::Update;
use plimsoll_graph::{Graph, Init, OpKind, Phase, Role, Site, Source, TensorType, ValueId};

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
pub fn accumulating_graph(forward: Graph, objective: &Objective) -> Result<TrainingGraph, TrainError> {
    let (mut training, gradients) = differentiated(forward, objective)?;
    let (weight, step) = (training.learning_rate, training.step);
    let prefix = prefix(&training.graph);
    for (parameter, gradient) in gradients {
        let graph = &mut training.graph;
        let layer = graph.value(parameter).layer;
        let accumulator = add_accumulator(graph, parameter, &prefix)?;
        let site = Site { layer, phase: Phase::Update };
        graph.add_op(Update::Sgd.into(), &[accumulator, gradient, weight, step], site)?;
    }
    Ok(training)
}

/// The updates of a training graph, applied to accumulated gradients.
pub fn applying_graph(training: &TrainingGraph) -> Result<ApplyingGraph, TrainError> {
    let mut graph = Graph::new(training.graph.name());
    let prefix = prefix(&training.graph);
    let step = graph.add_input("step", TensorType::i32([]))?;
    let learning_rate = graph.add_input("learning_rate", TensorType::f32([]))?;
    for op in training.graph.ops() {
        let OpKind::Update(rule) = &op.kind else { continue };
        let layer = op.layer.map(|layer| graph.add_layer(training.graph.layer_name(layer)));
        let mut copy = |id: ValueId| {
            let value = training.graph.value(id);
            let Source::Persistent(init) = value.source else {
                unreachable!("updates replace what persists")
            };
            graph.add_persistent(value.name.clone(), value.tensor.clone(), value.role, init, layer)
        };
        let parameter = copy(op.inputs[0])?;
        let slots =
            op.inputs[4..rule.gate()].iter().map(|&slot| copy(slot)).collect::<Result<Vec<_>, _>>()?;
        let gradient = add_accumulator(&mut graph, parameter, &prefix)?;
        let inputs = [vec![parameter, gradient, learning_rate, step], slots].concat();
        graph.add_op(op.kind.clone(), &inputs, Site { layer, phase: Phase::Update })?;
    }
    Ok(ApplyingGraph { graph, step, learning_rate, gate: None })
}

/// The persistent values in which gradients are added up.
pub fn accumulators(graph: &Graph) -> impl Iterator<Item = ValueId> + '_ {
    graph.persistents().filter(|&id| graph.value(id).role == Role::Accumulator)
}

/// What the names of accumulators begin with; the same for all graphs of one model.
fn prefix(graph: &Graph) -> String {
    graph.free_prefix("accumulated")
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
    use plimsoll_graph::verify;

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
            let part = accumulating_graph(forward(3), &Loss::MeanSquaredError.into()).unwrap();
            let apply = applying_graph(&whole).unwrap();
            verify(&part.graph).unwrap();
            verify(&apply.graph).unwrap();
            let updates =
                |graph: &Graph| graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Update(_))).count();
            assert_eq!([&whole.graph, &part.graph, &apply.graph].map(updates), [2; 3]);
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
