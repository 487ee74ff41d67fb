//! What a model adds to the loss by itself, such as the size of its weights.
//!
//! Scalars count once a batch; of numbers for each sample the mean counts. In a part of a batch both have the part's
//! weight, so that parts add up to the batch.

use crate::TrainError;
use plimsoll_graph::op::{Binary, Reduce, Reduction};
use plimsoll_graph::{Graph, Phase, ShapeError, Site, ValueId};

/// Sums of what a model adds to the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Whatever the samples are: a scalar.
    pub of_all: Option<ValueId>,
    /// For each sample: `f32[batch]`.
    pub of_samples: Option<ValueId>,
}

/// Adds up penalties.
pub(crate) fn added(graph: &mut Graph, penalties: &[ValueId]) -> Result<Added, ShapeError> {
    let mut added = Added::default();
    for &penalty in penalties {
        let sum = match graph.tensor(penalty).shape.rank() {
            0 => &mut added.of_all,
            _ => &mut added.of_samples,
        };
        *sum = Some(sum.map_or(Ok(penalty), |sum| add(graph, sum, penalty))?);
    }
    Ok(added)
}

/// Adds penalties to a loss; gives the total.
pub(crate) fn add_penalties(
    graph: &mut Graph,
    loss: ValueId,
    penalties: &[ValueId],
) -> Result<ValueId, TrainError> {
    let Added { of_all, of_samples } = added(graph, penalties)?;
    let mean = |value| graph.add_single(Reduce::all(Reduction::Mean, 1).into(), &[value], SITE);
    let mean = of_samples.map(mean).transpose()?;
    let mut total = loss;
    for penalty in of_all.into_iter().chain(mean) {
        total = add(graph, total, penalty)?;
    }
    if total != loss {
        graph.rename(loss, "loss/heads");
        graph.rename(total, "loss");
    }
    Ok(total)
}

const SITE: Site = Site { layer: None, phase: Phase::Forward };

fn add(graph: &mut Graph, left: ValueId, right: ValueId) -> Result<ValueId, ShapeError> {
    graph.add_single(Binary::Add.into(), &[left, right], SITE)
}
