//! The evaluation graph: what a model as trained so far says about samples, and how far it is from the truth.
//!
//! In: the forward graph of a model for inference. Out: the same graph with the losses of an objective. Every head
//! takes sample weights, so that a batch that is not full can be filled up with samples of weight 0.

use crate::head::{Purpose, add_losses};
use crate::penalties::{Added, added};
use crate::predicted::{Taken, take_outputs};
use crate::training::{add_scalars, sample_inputs};
use crate::{Descent, HeadValues, Objective, SlotNames, TrainError, TrainingGraph, slot};
use plimsoll_graph::{Graph, Role, ValueId};

/// A graph that judges a model, and the values a loop deals with.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationGraph {
    /// What is computed; its outputs are the total loss, the loss of each head, its predictions and their mask, and
    /// what the model adds to the loss.
    pub graph: Graph,
    /// The samples: all inputs of the model.
    pub inputs: Vec<ValueId>,
    /// Each output that has a loss; its sample weights are always there.
    pub heads: Vec<HeadValues>,
    /// The weighted sum over the heads, without what the model adds.
    pub loss: ValueId,
    /// What the model adds to it.
    pub added: Added,
}

/// Lets the averages of parameters stand for them in a forward graph, where an optimizer keeps some: what is trained is
/// judged by them, as Keras does after its last epoch.
pub fn averaged(forward: &mut Graph, training: &TrainingGraph, descent: &Descent) {
    if descent.settings.average.is_none() {
        return;
    }
    let names = SlotNames::of_model(&training.graph, descent);
    for sums in &training.sums {
        let name = &training.graph.value(sums.parameter).name;
        if let Some(parameter) = forward.find(name) {
            forward.replace_persistent(parameter, names.of(slot::AVERAGE, name), Role::OptimizerState);
        }
    }
}

/// Adds losses to a forward graph.
pub fn evaluation_graph(forward: Graph, objective: &Objective) -> Result<EvaluationGraph, TrainError> {
    let Taken { mut graph, predicted, penalties } = take_outputs(forward, objective, Purpose::Evaluation)?;
    let inputs = sample_inputs(&graph)?;
    let (heads, loss) = add_losses(&mut graph, &predicted, objective, Purpose::Evaluation)?;
    add_scalars(&mut graph, loss, &heads);
    heads
        .iter()
        .flat_map(|head| [Some(head.predictions), head.mask])
        .flatten()
        .for_each(|id| graph.add_output(id));
    let added = added(&mut graph, &penalties)?;
    added.of_all.into_iter().chain(added.of_samples).for_each(|id| graph.add_output(id));
    Ok(EvaluationGraph { graph, inputs, heads, loss, added })
}
