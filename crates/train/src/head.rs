//! From predictions to losses: what an [`Objective`] adds to a graph.
//!
//! In: a graph and its predictions. Out: the same graph with inputs for targets and sample weights, the loss of each
//! head and the total. A graph with one head calls them `targets`, `sample_weight`, `loss` and `accuracy`; with
//! several, `targets/<output>` and so on.

use crate::predicted::Predicted;
use crate::{Head, Loss, Objective, TrainError};
use plimsoll_graph::op::{Accuracy, Binary, CrossEntropy, Reduce, Reduction, Reshape, Unary};
use plimsoll_graph::{Graph, Shape, Site, TensorType, ValueId};

/// The values of one head that a loop writes and reads.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadValues {
    /// What the output is called.
    pub output: String,
    /// What is minimized.
    pub kind: Loss,
    /// How right predictions are told, for cross-entropies.
    pub judged: Option<CrossEntropy>,
    /// Whether the loss is told of logits and gets what a softmax or a sigmoid made of them, so that it went back.
    pub repaired: bool,
    /// The truth, which the caller writes.
    pub targets: ValueId,
    /// The weight of each sample, which the caller writes.
    pub sample_weights: Option<ValueId>,
    /// What the model says, or in training the logits of that; not kept after a training step.
    pub predictions: ValueId,
    /// The loss before it is multiplied by the head's weight, a scalar.
    pub loss: ValueId,
    /// The share of right predictions, for cross-entropies. Sample weights do not count in it.
    pub accuracy: Option<ValueId>,
}

impl HeadValues {
    /// The same in another graph, where `now` says what stands for a value.
    pub(crate) fn rewritten(&self, now: &dyn Fn(ValueId) -> ValueId) -> Self {
        Self {
            output: self.output.clone(),
            kind: self.kind,
            judged: self.judged,
            repaired: self.repaired,
            targets: now(self.targets),
            sample_weights: self.sample_weights.map(now),
            predictions: now(self.predictions),
            loss: now(self.loss),
            accuracy: self.accuracy.map(now),
        }
    }
}

/// What the losses are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Samples have weights where the objective says so; the share of right predictions is computed.
    Training,
    /// Samples always have weights; who fills up a batch counts right predictions on their own.
    Evaluation,
}

/// Appends the losses of an objective to a graph with these predictions, one for each head; gives its heads and the
/// total.
pub(crate) fn add_losses(
    graph: &mut Graph,
    predicted: &[Predicted],
    objective: &Objective,
    purpose: Purpose,
) -> Result<(Vec<HeadValues>, ValueId), TrainError> {
    let alone = objective.heads.len() == 1;
    let mut heads = Vec::with_capacity(objective.heads.len());
    let mut total = None;
    for (head, predicted) in objective.heads.iter().zip(predicted) {
        let site = Site::forward(graph.add_layer(own_name("loss", head, alone)));
        let mut adding = Adding { graph, head, site, alone, purpose };
        let values = adding.head(predicted)?;
        total = Some(adding.add_to_total(total, values.loss)?);
        heads.push(values);
    }
    let total = total.expect("there is a head");
    graph.rename(total, "loss");
    Ok((heads, total))
}

fn own_name(what: &str, head: &Head, alone: bool) -> String {
    if alone { what.to_string() } else { format!("{what}/{}", head.name) }
}

/// One head under construction.
struct Adding<'a> {
    graph: &'a mut Graph,
    head: &'a Head,
    site: Site,
    /// Whether it is the only one.
    alone: bool,
    purpose: Purpose,
}

impl Adding<'_> {
    fn head(&mut self, predicted: &Predicted) -> Result<HeadValues, TrainError> {
        let (kind, site) = (self.head.loss, self.site);
        let Predicted { value: predictions, judged, .. } = *predicted;
        let targets = self.input("targets", kind.targets(self.graph.tensor(predictions))?)?;
        let each = kind.add_each(self.graph, predicted, targets, site)?;
        let (each, sample_weights) = self.weighted(each, predictions)?;
        let accuracy = match self.purpose {
            Purpose::Training => self.accuracy(predicted, targets)?,
            Purpose::Evaluation => None,
        };
        let mean = Reduce::all(Reduction::Mean, self.graph.tensor(each).shape.rank());
        let loss = self.graph.add_single(mean.into(), &[each], site)?;
        self.graph.rename(loss, own_name("loss", self.head, self.alone));
        if let Some(accuracy) = accuracy {
            self.graph.rename(accuracy, own_name("accuracy", self.head, self.alone));
        }
        let output = self.head.name.clone();
        let repaired = predicted.logits.is_some() && kind.says_logits();
        Ok(HeadValues {
            output,
            kind,
            judged,
            repaired,
            targets,
            sample_weights,
            predictions,
            loss,
            accuracy,
        })
    }

    /// The share of right predictions, where that makes sense.
    fn accuracy(&mut self, predicted: &Predicted, targets: ValueId) -> Result<Option<ValueId>, TrainError> {
        let Some(op) = predicted.judged else { return Ok(None) };
        Ok(Some(self.graph.add_single(Accuracy(op).into(), &[predicted.value, targets], self.site)?))
    }

    /// Each sample's losses times its weight, whatever axes follow the batch.
    fn weighted(
        &mut self,
        each: ValueId,
        predictions: ValueId,
    ) -> Result<(ValueId, Option<ValueId>), TrainError> {
        if !self.head.sample_weights && self.purpose == Purpose::Training {
            return Ok((each, None));
        }
        let (samples, rank) = (self.graph.tensor(predictions).shape[0], self.graph.tensor(each).shape.rank());
        let least = if self.head.sample_weights { 2 } else { 1 };
        if rank == 0 || self.graph.tensor(predictions).shape.rank() < least {
            return Err(TrainError::NoSamples { name: self.head.name.clone() });
        }
        let weights = self.input("sample_weight", TensorType::f32([samples]))?;
        let mut column = vec![1; rank];
        column[0] = samples;
        let shaped = match rank {
            1 => weights,
            _ => {
                self.graph.add_single(Reshape { shape: Shape::new(column) }.into(), &[weights], self.site)?
            }
        };
        let weighted = self.graph.add_single(Binary::Multiply.into(), &[each, shaped], self.site)?;
        Ok((weighted, Some(weights)))
    }

    fn input(&mut self, what: &str, tensor: TensorType) -> Result<ValueId, TrainError> {
        let name = self.graph.free_name(&own_name(what, self.head, self.alone));
        Ok(self.graph.add_input(name, tensor)?)
    }

    fn add_to_total(&mut self, total: Option<ValueId>, loss: ValueId) -> Result<ValueId, TrainError> {
        let scaled = match self.head.weight == 1.0 {
            true => loss,
            false => {
                let factor = Unary::MultiplyScalar(self.head.weight);
                self.graph.add_single(factor.into(), &[loss], self.site)?
            }
        };
        Ok(match total {
            Some(total) => self.graph.add_single(Binary::Add.into(), &[total, scaled], self.site)?,
            None => scaled,
        })
    }
}
