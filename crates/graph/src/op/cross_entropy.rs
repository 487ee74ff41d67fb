//! Cross-entropy losses, one number a row, with their gradient; and the accuracy that goes with them.

use super::expect::{Inferred, ensure, floats, integers, operands, operands_and_optional, shape};
use crate::samples::Placed;
use crate::{Shape, TensorType};
use serde::{Deserialize, Serialize};

/// What the truth looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// The number of the class: `i32[...]`.
    Sparse,
    /// A distribution over the classes: `f32[...,classes]`.
    Categorical,
    /// Independent yes/no probabilities: `f32[...,classes]`; the row's loss is the mean over its elements.
    Binary,
}

/// `(predictions [...,classes], targets) -> loss [...]`.
///
/// From probabilities the arithmetic is Keras's on TensorFlow, with `eps = 1e-7`: sparse targets clip to
/// `[eps, 1-eps]`, take the logarithm and go on as from logits; categorical ones divide by the row's sum, clip and take
/// `-sum(t log p)`; binary ones clip and take `-(t log p + (1 - t) log(1 - p))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossEntropy {
    /// What the truth looks like.
    pub targets: Targets,
    /// Whether the predictions are logits rather than probabilities.
    pub from_logits: bool,
}

/// `(predictions, targets, dloss [...]) -> dpredictions` of [`CrossEntropy`]. From logits, categorical targets are
/// taken to add up to 1, whatever they do: `dloss (softmax - t)`, as TensorFlow's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossEntropyGradient(pub CrossEntropy);

/// `(predictions [...,classes], targets, mask [...]?) -> f32[]`, the share of rows whose largest prediction is the
/// right one (the first, if several are equal); for binary targets the share of elements on the right side of 0.5 (of 0
/// for logits). Rows whose mask is 0 are left out; without any row the share is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy(pub CrossEntropy);

impl CrossEntropy {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [predictions, targets] = operands(inputs)?;
        Ok(vec![predictions.reshaped(self.rows(predictions, targets)?)])
    }

    /// A row may be a part of a sample, not the other way round.
    pub(crate) fn keeps_apart(&self, at: &Placed<'_>) -> bool {
        let predictions = &at.inputs[0];
        predictions.axis.is_none_or(|axis| axis + 1 != predictions.shape.rank())
    }

    fn rows(&self, predictions: &TensorType, targets: &TensorType) -> Result<Shape, String> {
        floats(&[predictions])?;
        ensure(predictions.shape.rank() > 0, || "the predictions are a scalar".to_string())?;
        let (_, outer) = predictions.shape.extents().split_last().expect("the rank is not 0");
        let rows = Shape::new(outer);
        match self.targets {
            Targets::Sparse => {
                integers(targets)?;
                shape("the targets", targets, rows.clone())?;
            }
            Targets::Categorical | Targets::Binary => {
                floats(&[targets])?;
                shape("the targets", targets, predictions.shape.clone())?;
            }
        }
        Ok(rows)
    }
}

impl CrossEntropyGradient {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let [predictions, targets, dloss] = operands(inputs)?;
        floats(&[dloss])?;
        shape("the gradient", dloss, self.0.rows(predictions, targets)?)?;
        Ok(vec![predictions.clone()])
    }

    /// Gradients are sums over samples or not asked about.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}

impl Accuracy {
    pub(crate) fn infer(&self, inputs: &[TensorType]) -> Inferred {
        let ([predictions, targets], mask) = operands_and_optional(inputs)?;
        let rows = self.0.rows(predictions, targets)?;
        if let Some(mask) = mask {
            floats(&[mask])?;
            shape("the mask", mask, rows)?;
        }
        Ok(vec![predictions.reshaped([])])
    }

    /// It is a mean over all samples.
    pub(crate) fn keeps_apart(&self, _: &Placed<'_>) -> bool {
        false
    }
}
