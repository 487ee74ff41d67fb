//! Updates that can be skipped: one value says whether everything is finite, and where it is not, nothing changes.
//!
//! In: a training graph, an accumulating one, or one that applies what was added up. Out: the same graph in which
//! everything that updates reads that value as its gate. What is added up stays as it is: a sum that is not finite
//! closes the gate of the graph that applies it.
//!
//! Without a gate an update runs as soon as its gradient is there. With one all of them wait for the last gradient, and
//! all gradients live until then: that is the price, and why a gate is asked for.

use crate::update::{SlotNames, add_scale_update};
use crate::{ApplyingGraph, Descent, TrainError, TrainingGraph, accumulators};
use plimsoll_graph::op::AllFinite;
use plimsoll_graph::{Graph, Op, OpKind, Phase, Role, ShapeError, Site, TensorType, ValueId};

/// What a gate adds to a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// 1 if everything was finite, else 0 and nothing was updated: an output, `f32[]`.
    pub finite: ValueId,
    /// The number of the update, counted from 1 without those that were skipped: an input, `i32[]`. Only where a graph
    /// updates parameters and reads the number of the step besides.
    pub updates: Option<ValueId>,
}

/// What a gate looks at and holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gated {
    /// Loss and gradients are looked at, and nothing changes.
    Everything,
    /// Only gradients are looked at, and only updates held back: what Keras does where the scale of the loss changes by
    /// itself.
    Updates,
}

/// The same training graph, whose updates happen only if the loss and all gradients are finite.
pub fn gated(training: &TrainingGraph, descent: &Descent, what: Gated) -> Result<TrainingGraph, TrainError> {
    let graph = &training.graph;
    let gradients =
        graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Update(_))).map(|op| op.inputs[1]);
    let loss = Some(training.loss).filter(|_| what == Gated::Everything);
    let judged: Vec<ValueId> = loss.into_iter().chain(gradients).collect();
    let mut rebuilt = Rebuilt::of(graph, what);
    let updates = graph.ops().iter().any(|op| updates_parameter(graph, op));
    if updates {
        rebuilt.count_updates()?;
    }
    rebuilt.close(&judged)?;
    let gate = Gate { finite: rebuilt.finite(), updates: rebuilt.updates };
    let mut gated = TrainingGraph { gate: Some(gate), ..training.rewritten(rebuilt.graph, &rebuilt.values) };
    if updates {
        let (scalars, names) =
            ([gated.learning_rate, gated.step], SlotNames::of_model(&gated.graph, descent));
        add_scale_update(&mut gated.graph, descent, gate.finite, scalars, &names)?;
    }
    Ok(gated)
}

/// The same updates, which happen only if everything that was added up is finite. Its `step` counts updates. The names
/// of slots are those of the training graph.
pub fn gated_updates(
    applying: &ApplyingGraph,
    training: &TrainingGraph,
    descent: &Descent,
) -> Result<ApplyingGraph, TrainError> {
    let judged: Vec<ValueId> = accumulators(&applying.graph).collect();
    let mut rebuilt = Rebuilt::of(&applying.graph, Gated::Everything);
    rebuilt.close(&judged)?;
    let (step, learning_rate) = (rebuilt.now(applying.step), rebuilt.now(applying.learning_rate));
    let (finite, mut graph) = (rebuilt.finite(), rebuilt.graph);
    let names = SlotNames::of_model(&training.graph, descent);
    add_scale_update(&mut graph, descent, finite, [learning_rate, step], &names)?;
    Ok(ApplyingGraph { step, learning_rate, gate: Some(Gate { finite, updates: None }), graph })
}

fn updates_parameter(graph: &Graph, op: &Op) -> bool {
    matches!(op.kind, OpKind::Update(_)) && !accumulates(graph, op)
}

fn accumulates(graph: &Graph, op: &Op) -> bool {
    graph.value(op.inputs[0]).role == Role::Accumulator
}

/// A graph that is written again, updates last.
struct Rebuilt<'a> {
    from: &'a Graph,
    graph: Graph,
    /// For each value of the other graph, what stands for it.
    values: Vec<Option<ValueId>>,
    updates: Option<ValueId>,
    what: Gated,
}

impl<'a> Rebuilt<'a> {
    fn of(from: &'a Graph, what: Gated) -> Self {
        let (graph, values) = from.without_ops();
        Self { from, graph, values, updates: None, what }
    }

    fn now(&self, value: ValueId) -> ValueId {
        self.values[value.index()].expect("what an update gives is read by nobody")
    }

    /// The value that was added last of all outputs.
    fn finite(&self) -> ValueId {
        *self.graph.outputs().last().expect("the gate is an output")
    }

    fn count_updates(&mut self) -> Result<(), ShapeError> {
        let name = self.graph.free_name("updates");
        self.updates = Some(self.graph.add_input(name, TensorType::i32([]))?);
        Ok(())
    }

    /// Copies all ops; updates read whether everything that is judged was finite.
    fn close(&mut self, judged: &[ValueId]) -> Result<(), ShapeError> {
        let from = self.from;
        let (updates, others): (Vec<&Op>, Vec<&Op>) =
            from.ops().iter().partition(|op| !op.kind.updates().is_empty());
        for op in others {
            let inputs: Vec<ValueId> = op.inputs.iter().map(|&input| self.now(input)).collect();
            self.copy(op, &inputs)?;
        }
        let judged: Vec<ValueId> = judged.iter().map(|&value| self.now(value)).collect();
        let site = Site { layer: None, phase: Phase::Update };
        let finite = self.graph.add_single(AllFinite {}.into(), &judged, site)?;
        self.graph.rename(finite, "finite");
        for op in updates {
            let inputs = self.gated_inputs(op, finite);
            self.copy(op, &inputs)?;
        }
        for &output in from.outputs() {
            let output = self.now(output);
            self.graph.add_output(output);
        }
        self.graph.add_output(finite);
        Ok(())
    }

    fn gated_inputs(&self, op: &Op, finite: ValueId) -> Vec<ValueId> {
        let mut inputs: Vec<ValueId> = op.inputs.iter().map(|&input| self.now(input)).collect();
        let held_back = matches!(op.kind, OpKind::Update(_)) || self.what == Gated::Everything;
        if accumulates(self.from, op) || !held_back {
            return inputs;
        }
        if let (OpKind::Update(_), Some(updates)) = (&op.kind, self.updates) {
            inputs[3] = updates;
        }
        inputs.push(finite);
        inputs
    }

    fn copy(&mut self, op: &Op, inputs: &[ValueId]) -> Result<(), ShapeError> {
        let outputs = self.graph.add_op(op.kind.clone(), inputs, op.site())?;
        for (&old, new) in op.outputs.iter().zip(outputs) {
            self.graph.rename(new, self.from.value(old).name.as_str());
            self.values[old.index()] = Some(new);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loss, Optimizer, accumulating_graph, applying_graph, training_graph};
    use plimsoll_graph::op::{BatchNorm, Dropout, MatMul, MovingAverage};
    use plimsoll_graph::{Init, verify};

    /// A product, normalized and dropped: updates, moving averages and a reader of the step.
    fn forward(batch: usize) -> Graph {
        let mut graph = Graph::new("g");
        let x = graph.add_input("x", TensorType::f32([batch, 3])).unwrap();
        let step = graph.add_input("step", TensorType::i32([])).unwrap();
        let layer = graph.add_layer("layer");
        let mut keep = |name: &str, shape: &[usize], role: Role| {
            let tensor = TensorType::f32(plimsoll_graph::Shape::new(shape));
            graph.add_persistent(name, tensor, role, Init::Constant(1.0), Some(layer)).unwrap()
        };
        let kernel = keep("kernel", &[3, 2], Role::Parameter);
        let [gamma, beta] = ["gamma", "beta"].map(|name| keep(name, &[2], Role::Parameter));
        let mean = keep("mean", &[2], Role::Statistic);
        let site = Site::forward(layer);
        let y = graph.add_single(MatMul::default().into(), &[x, kernel], site).unwrap();
        let y = graph.add_op(BatchNorm { epsilon: 1e-3 }.into(), &[y, gamma, beta], site).unwrap();
        let late = Site { layer: Some(layer), phase: Phase::Update };
        graph.add_op(MovingAverage { momentum: 0.9 }.into(), &[mean, y[1]], late).unwrap();
        let y = graph.add_single(Dropout { rate: 0.5, seed: 1 }.into(), &[y[0], step], site).unwrap();
        graph.add_output(y);
        graph
    }

    fn gates(graph: &Graph) -> Vec<bool> {
        let updates = graph.ops().iter().filter(|op| !op.kind.updates().is_empty());
        updates.map(|op| op.gate().is_some()).collect()
    }

    #[test]
    fn every_update_of_a_step_has_the_same_gate() {
        for optimizer in Optimizer::DEFAULTS {
            let plain = training_graph(forward(4), &Loss::MeanSquaredError.into(), optimizer).unwrap();
            assert!(plain.gate.is_none() && gates(&plain.graph).iter().all(|gated| !gated));
            let training = gated(&plain, &optimizer.into(), Gated::Everything).unwrap();
            verify(&training.graph).unwrap();
            let gate = training.gate.unwrap();
            let updates = training.graph.ops().iter().filter(|op| !op.kind.updates().is_empty());
            assert!(updates.clone().count() >= 4 && updates.clone().all(|op| op.gate() == Some(gate.finite)));
            // Optimizers count updates, dropout counts steps.
            let reads =
                |value: ValueId| training.graph.ops().iter().filter(move |op| op.inputs.contains(&value));
            assert!(reads(gate.updates.unwrap()).all(|op| matches!(op.kind, OpKind::Update(_))));
            assert!(reads(training.step).all(|op| matches!(op.kind, OpKind::Dropout(_))));
            assert_eq!(training.graph.outputs().last(), Some(&gate.finite));
        }
    }

    #[test]
    fn parts_gate_what_they_remember_and_the_sums_gate_what_is_learned() {
        let adam = Optimizer::parse("adam").unwrap();
        let descent = adam.into();
        let plain = training_graph(forward(4), &Loss::MeanSquaredError.into(), adam).unwrap();
        let whole = gated(&plain, &descent, Gated::Everything).unwrap();
        let part = accumulating_graph(forward(2), &Loss::MeanSquaredError.into(), &descent).unwrap();
        let part = gated(&part, &descent, Gated::Everything).unwrap();
        verify(&part.graph).unwrap();
        assert_eq!(part.gate.unwrap().updates, None);
        for op in part.graph.ops().iter().filter(|op| !op.kind.updates().is_empty()) {
            assert_eq!(op.gate().is_some(), matches!(op.kind, OpKind::MovingAverage(_)));
        }
        let apply = gated_updates(&applying_graph(&whole, &descent).unwrap(), &whole, &descent).unwrap();
        verify(&apply.graph).unwrap();
        assert_eq!(gates(&apply.graph), [true; 3]);
        let judge = apply.graph.ops().iter().find(|op| matches!(op.kind, OpKind::AllFinite(_))).unwrap();
        assert_eq!(judge.inputs, accumulators(&apply.graph).collect::<Vec<_>>());
    }
}
