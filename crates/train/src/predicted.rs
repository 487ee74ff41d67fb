//! What the losses of an objective read of a forward graph.
//!
//! In: a forward graph with what goes with its outputs. Out: the same graph without outputs and without what nobody
//! needs any more, for each head what its loss reads, and what is added to the loss. Like Keras on TensorFlow, a
//! cross-entropy goes back to the logits of a softmax or a sigmoid, whichever of the two it is and whatever
//! `from_logits` says; in training the probabilities are then not even computed, unless something else reads them.

use crate::head::Purpose;
use crate::{Head, Objective, TrainError};
use plimsoll_graph::op::{CrossEntropy, Targets, Unary};
use plimsoll_graph::{Beside, Graph, OpKind, Source, ValueId, prune};

/// What the loss of one head reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Predicted {
    /// What the model says; in training the logits instead, where they tell right predictions as well.
    pub(crate) value: ValueId,
    /// The logits behind the predictions, if the loss goes back to them.
    pub(crate) logits: Option<ValueId>,
    /// Which rows of the predictions count: 1, or 0 for padding.
    pub(crate) mask: Option<ValueId>,
    /// How right predictions are told by `value`, where the loss has classes.
    pub(crate) judged: Option<CrossEntropy>,
}

/// What is taken of a forward graph.
pub(crate) struct Taken {
    /// The same without outputs and without what nobody needs any more.
    pub(crate) graph: Graph,
    /// For each head what its loss reads.
    pub(crate) predicted: Vec<Predicted>,
    /// What the model adds to the loss.
    pub(crate) penalties: Vec<ValueId>,
}

/// Takes the outputs of a forward graph for the heads of an objective, in their order.
pub(crate) fn take_outputs(
    forward: Graph,
    objective: &Objective,
    purpose: Purpose,
) -> Result<Taken, TrainError> {
    let mut graph = forward;
    objective.check(graph.outputs().len())?;
    let heads = objective.heads.iter();
    let predicted: Vec<Predicted> = heads.map(|head| Predicted::of(&graph, head, purpose)).collect();
    let idle = |position: usize| !objective.heads.iter().any(|head| head.output == position);
    let penalties = graph.penalties().to_vec();
    let outputs = graph.take_outputs();
    let idle = (0..outputs.len()).filter(|&position| idle(position)).map(|position| outputs[position]);
    let read = predicted.iter().flat_map(|one| [Some(one.value), one.logits, one.mask]);
    let needed: Vec<ValueId> = idle.chain(read.flatten()).chain(penalties.iter().copied()).collect();
    let (graph, values) = prune(&graph, &needed);
    let now = |id: ValueId| values[id.index()].expect("it is needed");
    let predicted = predicted.iter().map(|predicted| predicted.rewritten(&now)).collect();
    Ok(Taken { graph, predicted, penalties: penalties.into_iter().map(now).collect() })
}

impl Predicted {
    fn of(graph: &Graph, head: &Head, purpose: Purpose) -> Self {
        let output = graph.outputs()[head.output];
        let Beside { logits: behind, mask } = graph.beside(head.output);
        let logits = behind.filter(|_| head.loss.goes_back());
        let op = head.loss.cross_entropy();
        let instead = logits.filter(|_| purpose == Purpose::Training && !head.loss.reads_both());
        let instead = instead.filter(|_| tells_the_same(graph, output, op));
        let from_logits = |op: CrossEntropy| instead.is_some() || (behind.is_none() && op.from_logits);
        let judged = op.map(|op| CrossEntropy { from_logits: from_logits(op), ..op });
        Self { value: instead.unwrap_or(output), logits, mask, judged }
    }

    fn rewritten(&self, now: &dyn Fn(ValueId) -> ValueId) -> Self {
        Self {
            value: now(self.value),
            logits: self.logits.map(now),
            mask: self.mask.map(now),
            judged: self.judged,
        }
    }
}

/// Whether logits tell right predictions as well as what was made of them: the largest of a row, or the side of 0.
fn tells_the_same(graph: &Graph, predictions: ValueId, op: Option<CrossEntropy>) -> bool {
    let (Some(op), Source::Op(made)) = (op, &graph.value(predictions).source) else { return false };
    match op.targets {
        Targets::Sparse | Targets::Categorical => matches!(graph.op(*made).kind, OpKind::Softmax(_)),
        Targets::Binary => matches!(graph.op(*made).kind, OpKind::Unary(Unary::Sigmoid)),
    }
}
