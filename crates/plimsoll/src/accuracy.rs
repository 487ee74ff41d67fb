//! How many predictions are right, sample by sample: the rule of the op of this name, for batches that are not full.

use crate::data::{Bound, Elements};
use plimsoll_graph::op::{CrossEntropy, Targets};

/// Counts right predictions of one head.
pub(crate) struct RightOnes {
    op: CrossEntropy,
    /// Which of the data's slots has the truth.
    slot: usize,
    /// The truth about one sample, in one of these.
    labels: Vec<i32>,
    targets: Vec<f32>,
    right: usize,
    looked_at: usize,
}

impl RightOnes {
    /// For targets of so many elements a sample.
    pub(crate) fn new(op: CrossEntropy, slot: usize, elements: usize) -> Self {
        let (labels, targets) = match op.targets {
            Targets::Sparse => (vec![0; elements], Vec::new()),
            Targets::Categorical | Targets::Binary => (Vec::new(), vec![0.0; elements]),
        };
        Self { op, slot, labels, targets, right: 0, looked_at: 0 }
    }

    /// Compares the predictions for one sample, `classes` in a row, with the truth; rows that a mask says are padding
    /// are left out.
    pub(crate) fn look_at(
        &mut self,
        predictions: &[f32],
        mask: Option<&[f32]>,
        classes: usize,
        data: &Bound<'_>,
        sample: usize,
    ) {
        let counts = |row: usize| mask.is_none_or(|mask| mask[row] != 0.0);
        let looked_at = (0..predictions.len() / classes).filter(|&row| counts(row)).count();
        let rows = predictions.chunks_exact(classes).enumerate().filter(|(row, _)| counts(*row));
        match self.op.targets {
            Targets::Sparse => {
                data.write(self.slot, sample, Elements::I32(&mut self.labels));
                self.looked_at += looked_at;
                let is_right =
                    |(row, p): &(usize, &[f32])| first_largest(p) as i64 == i64::from(self.labels[*row]);
                self.right += rows.filter(is_right).count();
            }
            Targets::Categorical => {
                data.write(self.slot, sample, Elements::F32(&mut self.targets));
                self.looked_at += looked_at;
                let truth = |row: usize| &self.targets[row * classes..][..classes];
                let is_right = |(row, p): &(usize, &[f32])| first_largest(p) == first_largest(truth(*row));
                self.right += rows.filter(is_right).count();
            }
            Targets::Binary => {
                data.write(self.slot, sample, Elements::F32(&mut self.targets));
                self.looked_at += looked_at * classes;
                let middle = if self.op.from_logits { 0.0 } else { 0.5 };
                let is_right = |(p, t): &(&f32, &f32)| (**p > middle) == (**t > 0.5);
                let right = |(row, p): (usize, &[f32])| {
                    p.iter().zip(&self.targets[row * classes..]).filter(is_right).count()
                };
                self.right += rows.map(right).sum::<usize>();
            }
        }
    }

    /// The share of right ones.
    pub(crate) fn share(&self) -> f32 {
        self.right as f32 / self.looked_at.max(1) as f32
    }
}

/// The position of the largest number, the first if several are equal.
pub(crate) fn first_largest(row: &[f32]) -> usize {
    (0..row.len()).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Field, FieldKind, InMemory, Samples, Slot, Wanted};
    use plimsoll_graph::TensorType;
    use std::sync::Arc;

    fn share(targets: Targets, from_logits: bool, truth: InMemory, predictions: &[f32]) -> f32 {
        let Field { element, shape, .. } = truth.fields()[0].clone();
        let tensor = TensorType::new(element, shape.unwrap());
        let elements = tensor.shape.elements();
        let (kind, name) = (FieldKind::Target, "y".to_string());
        let slot = Slot { kind, name, tensor, below: 2, loss: None, optional: false };
        let wanted = Arc::new(Wanted { slots: vec![slot], batch: 1 });
        let data = wanted.bind(&truth).unwrap();
        let mut ones = RightOnes::new(CrossEntropy { targets, from_logits }, 0, elements);
        let each = predictions.len() / truth.count();
        for (sample, row) in predictions.chunks(each).enumerate() {
            ones.look_at(row, None, 2, &data, sample);
        }
        ones.share()
    }

    #[test]
    fn predictions_are_right_as_their_loss_says() {
        let predictions = [0.9, 0.1, 0.3, 0.7, 0.6, 0.4, 0.5, 0.5];
        let labels = InMemory::new().target("y", [2], vec![0, 1, 1, 0]).unwrap();
        assert_eq!(share(Targets::Sparse, false, labels, &predictions), 0.75);
        let truth = vec![1.0f32, 0.0, 1.0, 0.0, 0.9, 0.1, 0.5, 0.5];
        let truth = || InMemory::new().target("y", [2, 2], truth.clone()).unwrap();
        assert_eq!(share(Targets::Categorical, false, truth(), &predictions), 0.75);
        assert_eq!(share(Targets::Binary, false, truth(), &predictions), 0.75);
        let logits = predictions.map(|p| p - 0.5);
        assert_eq!(share(Targets::Binary, true, truth(), &logits), 0.75);
    }
}
