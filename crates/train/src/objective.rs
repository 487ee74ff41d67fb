//! What training makes small: a weighted sum of losses, one for each output that is trained.
//!
//! The arithmetic is Keras's. The loss of a head is the mean over the elements of its per-sample losses; with sample
//! weights these are multiplied by them first, and still divided by how many there are, not by the sum of the weights,
//! unless the head's reduction says otherwise. The total is `sum(weight * loss)`. An output without a head is not
//! trained.

use crate::{Loss, TrainError};
use serde::{Deserialize, Serialize};

/// What training makes small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// One for each output that is trained.
    pub heads: Vec<Head>,
}

/// An output that is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Which of the model's outputs, counted from 0.
    pub output: usize,
    /// What the output is called; its targets and sample weights in a data set have the same name.
    pub name: String,
    /// What is minimized.
    pub loss: Loss,
    /// How much it counts in the total.
    pub weight: f32,
    /// Whether each sample has a weight of its own: an input `f32[batch]`.
    pub sample_weights: bool,
    /// The axis of the predictions that the loss looks along, as Keras counts it.
    #[serde(default = "last")]
    pub axis: i32,
    /// How the losses of a batch become one number.
    #[serde(default)]
    pub reduction: LossReduction,
}

/// How the losses of a batch become one number, by Keras's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossReduction {
    /// The mean over all that count; weights of samples do not change by what is divided.
    #[default]
    SumOverBatchSize,
    /// The sum.
    Sum,
    /// The sum divided by that of the weights of samples, where they have some.
    MeanWithSampleWeight,
}

/// The last axis.
fn last() -> i32 {
    -1
}

impl Objective {
    /// The same loss for each of the model's outputs, as Keras does with one loss.
    pub fn everywhere<N: Into<String>>(outputs: impl IntoIterator<Item = N>, loss: Loss) -> Self {
        let head = |(output, name): (usize, N)| Head::new(output, name, loss);
        Self { heads: outputs.into_iter().enumerate().map(head).collect() }
    }

    /// The one loss of all of so many outputs, if they have the same and count the same.
    pub fn only_loss(&self, outputs: usize) -> Option<Loss> {
        let first = self.heads.first().filter(|_| self.heads.len() == outputs)?;
        let same = |head: &Head| {
            (head.loss, head.weight) == (first.loss, 1.0) && !head.sample_weights && head.is_plain()
        };
        self.heads.iter().all(same).then_some(first.loss)
    }

    /// The same, with weights for the samples of every head.
    pub fn with_sample_weights(mut self) -> Self {
        self.heads.iter_mut().for_each(|head| head.sample_weights = true);
        self
    }

    /// Checks the heads against the outputs of a graph.
    pub(crate) fn check(&self, outputs: usize) -> Result<(), TrainError> {
        if outputs == 0 || self.heads.is_empty() {
            return Err(TrainError::NoOutput);
        }
        for (position, head) in self.heads.iter().enumerate() {
            let name = || head.name.clone();
            if head.output >= outputs {
                return Err(TrainError::MissingOutput { name: name(), position: head.output, outputs });
            }
            if self.heads[..position]
                .iter()
                .any(|other| other.output == head.output || other.name == head.name)
            {
                return Err(TrainError::TwoLosses { name: name() });
            }
            if !head.weight.is_finite() {
                return Err(TrainError::Weight { name: name(), weight: head.weight });
            }
        }
        Ok(())
    }
}

impl Head {
    /// An output that counts once, with samples that count the same.
    pub fn new(output: usize, name: impl Into<String>, loss: Loss) -> Self {
        let (axis, reduction) = (last(), LossReduction::default());
        Self { output, name: name.into(), loss, weight: 1.0, sample_weights: false, axis, reduction }
    }

    /// What lets the samples of a batch see each other in the loss, if they do: parts of a batch come to another loss
    /// then.
    pub fn mixing(&self) -> Option<&'static str> {
        match self.reduction {
            LossReduction::SumOverBatchSize => self.loss.mixing(),
            LossReduction::Sum => Some("a sum over the losses of a batch"),
            LossReduction::MeanWithSampleWeight => Some("a mean by the weights of a batch's samples"),
        }
    }

    /// Whether its losses look along the last axis and become their mean.
    pub fn is_plain(&self) -> bool {
        (self.axis, self.reduction) == (last(), LossReduction::default())
    }

    /// The same with another weight.
    pub fn weighted(self, weight: f32) -> Self {
        Self { weight, ..self }
    }
}

impl From<Loss> for Objective {
    /// The loss of the first output alone.
    fn from(loss: Loss) -> Self {
        Self { heads: vec![Head::new(0, "output", loss)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSE: Loss = Loss::MeanSquaredError;

    #[test]
    fn heads_that_make_no_sense_are_refused() {
        let two = Objective::everywhere(["a", "b"], MSE);
        assert_eq!(two.check(2), Ok(()));
        assert_eq!(two.check(0), Err(TrainError::NoOutput));
        let missing = TrainError::MissingOutput { name: "b".to_string(), position: 1, outputs: 1 };
        assert_eq!(two.check(1), Err(missing));
        assert_eq!(Objective { heads: Vec::new() }.check(2), Err(TrainError::NoOutput));
        let twice = Objective { heads: vec![Head::new(1, "b", MSE), Head::new(1, "again", MSE)] };
        assert_eq!(twice.check(2), Err(TrainError::TwoLosses { name: "again".to_string() }));
        let endless = Objective { heads: vec![Head::new(0, "a", MSE).weighted(f32::INFINITY)] };
        assert!(matches!(endless.check(1), Err(TrainError::Weight { .. })));
    }

    #[test]
    fn one_loss_for_all_is_told_from_several() {
        let two = Objective::everywhere(["a", "b"], MSE);
        assert_eq!(two.only_loss(2), Some(MSE));
        assert_eq!(two.clone().with_sample_weights().only_loss(2), None);
        let mut summed = two.clone();
        summed.heads[1].reduction = LossReduction::Sum;
        assert_eq!(summed.only_loss(2), None);
        let mut mixed = two;
        mixed.heads[1].loss = Loss::MeanAbsoluteError;
        assert_eq!(mixed.only_loss(2), None);
    }
}
