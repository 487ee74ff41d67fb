//! The axis that a loss looks along: where it is not the last, predictions and targets are turned so that it is.

use super::Adding;
use crate::TrainError;
use crate::composed::Composed;
use crate::loss::Loss;
use crate::predicted::Predicted;
use plimsoll_graph::ValueId;
use plimsoll_graph::op::Transpose;

impl Adding<'_> {
    /// Whether the loss can look at these predictions at all.
    pub(super) fn check(&self, predictions: ValueId) -> Result<(), TrainError> {
        let rank = self.rank(predictions);
        let axis = self.axis(rank);
        match self.head.loss {
            Loss::Composed(Composed::Circle { .. }) if rank != 2 => {
                return Err(self.unfit("wants one vector for each sample"));
            }
            Loss::Composed(Composed::Ctc) if rank != 3 => {
                return Err(self.unfit("wants logits for every step of each sample"));
            }
            _ => {}
        }
        match axis {
            Some(axis) if axis > 0 || rank == 1 => Ok(()),
            None if rank == 0 => Err(TrainError::ScalarPredictions),
            Some(_) => Err(self.unfit("looks along the samples of a batch, which is not supported")),
            None => Err(self.unfit(&format!("has axis={}, but the predictions have {rank}", self.head.axis))),
        }
    }

    pub(super) fn turned(&mut self, predicted: &Predicted) -> Result<Predicted, TrainError> {
        if self.head.loss == Loss::Composed(Composed::Ctc) && predicted.mask.is_some() {
            return Err(self.unfit("is one number for all steps, and the predictions have a mask"));
        }
        if self.is_last(predicted.value) {
            return Ok(*predicted);
        }
        if predicted.mask.is_some() {
            return Err(self.unfit("does not look along the last axis, and the predictions have a mask"));
        }
        let logits = match predicted.logits {
            Some(logits) => Some(self.turn(logits)?),
            None => None,
        };
        Ok(Predicted { value: self.turn(predicted.value)?, logits, mask: None, judged: None })
    }

    pub(super) fn turn(&mut self, value: ValueId) -> Result<ValueId, TrainError> {
        let rank = self.rank(value);
        let Some(axis) = self.axis(rank).filter(|_| !self.is_last(value)) else { return Ok(value) };
        let order = (0..rank).filter(|&other| other != axis).chain([axis]).collect();
        self.op(Transpose { order }, &[value])
    }

    pub(super) fn unfit(&self, why: &str) -> TrainError {
        let (name, loss) = (self.head.name.clone(), self.head.loss.to_string());
        TrainError::Unfit { name, loss, why: why.to_string() }
    }

    fn is_last(&self, value: ValueId) -> bool {
        let rank = self.rank(value);
        self.head.axis == -1 || self.axis(rank) == Some(rank - 1)
    }

    /// The axis counted from the front, if a tensor of that rank has it.
    fn axis(&self, rank: usize) -> Option<usize> {
        let axis = i64::from(self.head.axis);
        let axis = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(axis).ok().filter(|&axis| axis < rank)
    }
}
