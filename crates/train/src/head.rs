//! From predictions to losses: what an [`Objective`] adds to a graph.
//!
//! In: a graph and its predictions. Out: the same graph with inputs for targets and sample weights, the loss of each
//! head and the total. A graph with one head calls them `targets`, `sample_weight`, `loss` and `accuracy`; with
//! several, `targets/<output>` and so on.

mod along;
mod reduced;

use crate::predicted::Predicted;
use crate::{Head, Loss, Objective, TrainError};
use plimsoll_graph::op::{Accuracy, Binary, CrossEntropy, Reshape, Unary};
use plimsoll_graph::{Graph, Shape, Site, TensorType, ValueId};
use reduced::Reduced;

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
    /// Which rows of the predictions count, if not all do: 1, or 0 for padding.
    pub mask: Option<ValueId>,
    /// The loss before it is multiplied by the head's weight, a scalar.
    pub loss: ValueId,
    /// Where samples see each other in the loss of an evaluation: 1 for each that is one, 0 for what only fills up the
    /// batch. The caller writes it.
    pub real: Option<ValueId>,
    /// Whether the loss is not divided by the number of samples in the batch, so that what fills it up changes nothing.
    pub whole: bool,
    /// How much the loss counts in the total.
    pub weight: f32,
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
            mask: self.mask.map(now),
            loss: now(self.loss),
            real: self.real.map(now),
            whole: self.whole,
            weight: self.weight,
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
        let predictions = predicted.value;
        self.check(predictions)?;
        let targets = self.input("targets", kind.targets(self.graph.tensor(predictions))?)?;
        let samples = TensorType::f32([self.graph.tensor(predictions).shape[0]]);
        let mixes = self.purpose == Purpose::Evaluation && kind.mixing().is_some();
        let real = if mixes { Some(self.input("real", samples)?) } else { None };
        let predicted = self.turned(predicted)?;
        let along = self.turn(targets)?;
        let each = kind.add_each(self.graph, &predicted, (along, real), site)?;
        let mask = match (self.mask(&predicted)?, each.counts) {
            (Some(mask), Some(own)) => {
                Some(self.graph.add_single(Binary::Multiply.into(), &[mask, own], site)?)
            }
            (mask, own) => mask.or(own),
        };
        let accuracy = match self.purpose {
            Purpose::Training => self.accuracy(&predicted, targets, mask)?,
            Purpose::Evaluation => None,
        };
        let Reduced { loss, sample_weights, whole } = self.reduced(each, predictions, mask)?;
        self.graph.rename(loss, own_name("loss", self.head, self.alone));
        if let Some(accuracy) = accuracy {
            self.graph.rename(accuracy, own_name("accuracy", self.head, self.alone));
        }
        Ok(HeadValues {
            output: self.head.name.clone(),
            kind,
            judged: predicted.judged,
            repaired: predicted.logits.is_some() && kind.says_logits(),
            targets,
            sample_weights,
            predictions,
            mask,
            loss,
            real,
            whole,
            weight: self.head.weight,
            accuracy,
        })
    }

    /// The share of right predictions, where that makes sense.
    fn accuracy(
        &mut self,
        predicted: &Predicted,
        targets: ValueId,
        mask: Option<ValueId>,
    ) -> Result<Option<ValueId>, TrainError> {
        let Some(op) = predicted.judged else { return Ok(None) };
        let inputs: Vec<ValueId> = [predicted.value, targets].into_iter().chain(mask).collect();
        Ok(Some(self.graph.add_single(Accuracy(op).into(), &inputs, self.site)?))
    }

    /// The mask of the predictions, one number for each row.
    fn mask(&mut self, predicted: &Predicted) -> Result<Option<ValueId>, TrainError> {
        let Some(mask) = predicted.mask else { return Ok(None) };
        let shape = &self.graph.tensor(predicted.value).shape;
        let rows = Shape::new(shape.extents().split_last().ok_or(TrainError::ScalarPredictions)?.1);
        let found = self.graph.tensor(mask).shape.clone();
        if found == rows {
            return Ok(Some(mask));
        }
        // As in Keras, an axis of extent 1 may be missing at the end of one of them.
        let (long, short) = if found.rank() > rows.rank() { (&found, &rows) } else { (&rows, &found) };
        if long.rank() != 2 || long[1] != 1 || short.extents() != &long.extents()[..1] {
            return Err(TrainError::Mask { name: self.head.name.clone(), mask: found, rows });
        }
        Ok(Some(self.graph.add_single(Reshape { shape: rows }.into(), &[mask], self.site)?))
    }

    /// A value with axes of extent 1 at its end.
    fn with_rank(&mut self, value: ValueId, rank: usize) -> Result<ValueId, TrainError> {
        let mut extents = self.graph.tensor(value).shape.extents().to_vec();
        if extents.len() >= rank {
            return Ok(value);
        }
        extents.resize(rank, 1);
        let reshape = Reshape { shape: Shape::new(extents) };
        Ok(self.graph.add_single(reshape.into(), &[value], self.site)?)
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
