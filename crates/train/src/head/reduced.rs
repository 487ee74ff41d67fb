//! The losses of a batch as one number, with the weights of its samples and its padding.

use super::{Adding, Purpose};
use crate::loss::Each;
use crate::{LossReduction, TrainError};
use plimsoll_graph::op::{Binary, Fill, Reduce, Reduction, Unary};
use plimsoll_graph::{OpKind, Shape, TensorType, ValueId};

/// What the losses of a batch come to.
pub(super) struct Reduced {
    /// A scalar.
    pub(super) loss: ValueId,
    /// The input for the weights of samples, if they have some.
    pub(super) sample_weights: Option<ValueId>,
    /// Whether it is not divided by the number of samples in the batch.
    pub(super) whole: bool,
}

impl Adding<'_> {
    /// One number for the batch. In an evaluation samples always have weights: what fills up a batch has the weight 0.
    pub(super) fn reduced(
        &mut self,
        each: Each,
        predictions: ValueId,
        mask: Option<ValueId>,
    ) -> Result<Reduced, TrainError> {
        let sample_weights = self.sample_weights(predictions)?;
        if !each.apart && !self.head.sample_weights {
            let loss = self.of_the_batch(each.value, sample_weights)?;
            return Ok(Reduced { loss, sample_weights, whole: false });
        }
        if !each.apart && self.rank(each.value) > 0 {
            return Err(self.unfit("is several numbers for a whole batch, so samples cannot have weights"));
        }
        let last = self.graph.tensor(predictions).shape.last();
        let elements = if self.rank(each.value) == self.rank(predictions) { last } else { 1 };
        let weighted = match sample_weights {
            Some(weights) => {
                let weights = self.with_rank(weights, self.rank(each.value))?;
                self.op(Binary::Multiply, &[each.value, weights])?
            }
            None => each.value,
        };
        let (loss, whole) = match (self.head.reduction, sample_weights) {
            (LossReduction::Sum, _) => (self.sum(weighted, mask)?, true),
            (LossReduction::MeanWithSampleWeight, Some(weights)) if self.head.sample_weights => {
                (self.mean_by_weights(weighted, weights, mask)?, true)
            }
            _ => return self.mean(weighted, mask).map(|loss| Reduced { loss, sample_weights, whole: false }),
        };
        let loss = match elements {
            1 => loss,
            elements => self.op(Unary::MultiplyScalar(1.0 / elements as f32), &[loss])?,
        };
        Ok(Reduced { loss, sample_weights, whole })
    }

    fn sample_weights(&mut self, predictions: ValueId) -> Result<Option<ValueId>, TrainError> {
        if !self.head.sample_weights && self.purpose == Purpose::Training {
            return Ok(None);
        }
        let shape = &self.graph.tensor(predictions).shape;
        let (samples, least) = (shape[0], if self.head.sample_weights { 2 } else { 1 });
        if shape.rank() < least {
            return Err(TrainError::NoSamples { name: self.head.name.clone() });
        }
        self.input("sample_weight", TensorType::f32([samples])).map(Some)
    }

    /// A loss that is one number for a batch, or few. In an evaluation it counts by how many samples are real.
    fn of_the_batch(&mut self, each: ValueId, weights: Option<ValueId>) -> Result<ValueId, TrainError> {
        let loss = match (self.rank(each), self.head.reduction) {
            (0, _) => each,
            (rank, LossReduction::Sum) => self.op(Reduce::all(Reduction::Sum, rank), &[each])?,
            (rank, _) => self.op(Reduce::all(Reduction::Mean, rank), &[each])?,
        };
        let Some(weights) = weights else { return Ok(loss) };
        let share = self.op(Reduce::all(Reduction::Mean, 1), &[weights])?;
        self.op(Binary::Multiply, &[loss, share])
    }

    /// The mean of what each row or element has lost, of those that count.
    fn mean(&mut self, each: ValueId, mask: Option<ValueId>) -> Result<ValueId, TrainError> {
        let Some(mask) = mask else {
            return self.op(Reduce::all(Reduction::Mean, self.rank(each)), &[each]);
        };
        let rows = self.graph.tensor(mask).shape.clone();
        let sum = self.sum(each, Some(mask))?;
        let count = self.op(Reduce::all(Reduction::Sum, rows.rank()), &[mask])?;
        // Nothing but padding has lost nothing.
        let count = self.op(Unary::MaximumScalar(1.0), &[count])?;
        let mean = self.op(Binary::Divide, &[sum, count])?;
        match self.graph.tensor(each).shape.elements() / rows.elements() {
            1 => Ok(mean),
            each => self.op(Unary::MultiplyScalar(1.0 / each as f32), &[mean]),
        }
    }

    /// The sum of those that count.
    fn sum(&mut self, each: ValueId, mask: Option<ValueId>) -> Result<ValueId, TrainError> {
        let rank = self.rank(each);
        let kept = match mask {
            Some(mask) => {
                let factor = self.with_rank(mask, rank)?;
                self.op(Binary::Multiply, &[each, factor])?
            }
            None => each,
        };
        self.op(Reduce::all(Reduction::Sum, rank), &[kept])
    }

    /// The sum divided by that of the weights; 0 where these come to 0.
    fn mean_by_weights(
        &mut self,
        each: ValueId,
        weights: ValueId,
        mask: Option<ValueId>,
    ) -> Result<ValueId, TrainError> {
        let sum = self.sum(each, mask)?;
        let weights = match mask {
            Some(mask) => {
                let weights = self.with_rank(weights, self.rank(mask))?;
                self.op(Binary::Multiply, &[mask, weights])?
            }
            None => weights,
        };
        let divisor = self.op(Reduce::all(Reduction::Sum, self.rank(weights)), &[weights])?;
        let zero = self.op(Fill { shape: Shape::scalar(), value: 0.0 }, &[])?;
        let (is_zero, is_not) =
            (self.op(Binary::Equal, &[divisor, zero])?, self.op(Binary::NotEqual, &[divisor, zero])?);
        let divisor = self.op(Binary::Add, &[divisor, is_zero])?;
        let mean = self.op(Binary::Divide, &[sum, divisor])?;
        self.op(Binary::Multiply, &[mean, is_not])
    }

    pub(super) fn op(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<ValueId, TrainError> {
        Ok(self.graph.add_single(kind.into(), inputs, self.site)?)
    }

    pub(super) fn rank(&self, value: ValueId) -> usize {
        self.graph.tensor(value).shape.rank()
    }
}
