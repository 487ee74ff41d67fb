//! Losses: from predictions to the one number that training makes small.
//!
//! In: predictions and targets. Out: the ops that compare them. Names and arithmetic are Keras's.

use crate::TrainError;
use crate::composed::Composed;
use crate::predicted::Predicted;
use plimsoll_graph::op::{Binary, CrossEntropy, Targets, Unary};
use plimsoll_graph::{Graph, Shape, ShapeError, Site, TensorType, ValueId};
use serde::{Deserialize, Serialize};

mod axes;
mod text;

pub use axes::Axes;

/// What training makes small, averaged over the batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Targets are distributions over the classes.
    CategoricalCrossEntropy {
        /// Whether the predictions are logits rather than probabilities.
        from_logits: bool,
    },
    /// Targets are the numbers of the classes.
    SparseCategoricalCrossEntropy {
        /// Whether the predictions are logits rather than probabilities.
        from_logits: bool,
    },
    /// Targets are independent yes/no probabilities.
    BinaryCrossEntropy {
        /// Whether the predictions are logits rather than probabilities.
        from_logits: bool,
    },
    /// The mean of squared differences.
    MeanSquaredError,
    /// The mean of absolute differences.
    MeanAbsoluteError,
    /// Squared near 0 and linear far from it.
    Huber {
        /// Where the one becomes the other.
        delta: f32,
    },
    /// Any other.
    Composed(Composed),
}

/// The losses of a batch before they become one number.
#[derive(Clone, Copy)]
pub(crate) struct Each {
    /// One for each row of the predictions, or for each element of a distance; one or few for a whole batch where
    /// samples are not apart.
    pub(crate) value: ValueId,
    /// Which rows count, where the loss says so: 1 or 0.
    pub(crate) counts: Option<ValueId>,
    /// Whether the first axis goes over the samples.
    pub(crate) apart: bool,
}

impl Each {
    /// Losses of samples that all count.
    pub(crate) fn of(value: ValueId) -> Self {
        Self { value, counts: None, apart: true }
    }
}

impl Loss {
    /// The Keras name, without arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::CategoricalCrossEntropy { .. } => "categorical_crossentropy",
            Self::SparseCategoricalCrossEntropy { .. } => "sparse_categorical_crossentropy",
            Self::BinaryCrossEntropy { .. } => "binary_crossentropy",
            Self::MeanSquaredError => "mean_squared_error",
            Self::MeanAbsoluteError => "mean_absolute_error",
            Self::Huber { .. } => "huber",
            Self::Composed(loss) => loss.name(),
        }
    }

    /// The type of the targets that go with predictions of a type.
    pub fn targets(self, predictions: &TensorType) -> Result<TensorType, TrainError> {
        let sparse = match self {
            Self::SparseCategoricalCrossEntropy { .. } => true,
            Self::Composed(loss) => loss.is_sparse(),
            _ => false,
        };
        if let (Self::Composed(Composed::Ctc), &[samples, steps, _]) = (self, predictions.shape.extents()) {
            // There may be a label at every step; shorter ones are filled up.
            return Ok(TensorType::i32([samples, steps]));
        }
        match (sparse, predictions.shape.extents().split_last()) {
            (true, Some((_, rows))) => Ok(TensorType::i32(Shape::new(rows))),
            (_, Some(_)) => Ok(TensorType::f32(predictions.shape.clone())),
            (_, None) => Err(TrainError::ScalarPredictions),
        }
    }

    /// Whether targets may be shorter than wanted: what is missing is 0.
    pub fn fills_targets_up(self) -> bool {
        matches!(self, Self::Composed(Composed::Ctc))
    }

    /// One more than the largest class that a target can name, for predictions of so many elements a row.
    pub fn classes(self, elements: usize) -> usize {
        match self {
            Self::Composed(Composed::Circle { .. }) => i32::MAX as usize,
            _ => elements,
        }
    }

    /// Whether it was told that predictions are logits.
    pub(crate) fn says_logits(self) -> bool {
        self.cross_entropy().is_some_and(|op| op.from_logits)
    }

    /// Whether it is computed from the logits of a softmax or a sigmoid where these are known, as Keras does.
    pub(crate) fn goes_back(self) -> bool {
        match self {
            Self::Composed(loss) => loss.goes_back(),
            _ => self.cross_entropy().is_some(),
        }
    }

    /// What lets the samples of a batch see each other, if they do: parts of a batch come to another loss then.
    pub(crate) fn mixing(self) -> Option<&'static str> {
        match self {
            Self::Composed(loss) => loss.mixing(),
            _ => None,
        }
    }

    /// Whether predictions are read beside the logits behind them.
    pub(crate) fn reads_both(self) -> bool {
        matches!(self, Self::Composed(loss) if loss.reads_both())
    }

    /// Appends the losses of these predictions. Where samples see each other and some of them only fill up a batch,
    /// `real` tells which: 1, or 0 for filling.
    pub(crate) fn add_each(
        self,
        graph: &mut Graph,
        predicted: &Predicted,
        (targets, real): (ValueId, Option<ValueId>),
        site: Site,
    ) -> Result<Each, ShapeError> {
        if let Self::Composed(loss) = self {
            return loss.add_rows(graph, predicted, (targets, real), site);
        }
        let each = match (self.cross_entropy(), predicted.logits) {
            (Some(op), Some(logits)) => {
                let op = CrossEntropy { from_logits: true, ..op };
                graph.add_single(op.into(), &[logits, targets], site)
            }
            (Some(op), None) => graph.add_single(op.into(), &[predicted.value, targets], site),
            (None, _) => {
                let difference =
                    graph.add_single(Binary::Subtract.into(), &[predicted.value, targets], site)?;
                graph.add_single(self.distance().into(), &[difference], site)
            }
        }?;
        Ok(Each::of(each))
    }

    /// What its targets look like and whether predictions are logits, if it is a cross-entropy.
    pub fn cross_entropy(self) -> Option<CrossEntropy> {
        let (targets, from_logits) = match self {
            Self::CategoricalCrossEntropy { from_logits } => (Targets::Categorical, from_logits),
            Self::SparseCategoricalCrossEntropy { from_logits } => (Targets::Sparse, from_logits),
            Self::BinaryCrossEntropy { from_logits } => (Targets::Binary, from_logits),
            Self::Composed(loss) => return loss.cross_entropy(),
            Self::MeanSquaredError | Self::MeanAbsoluteError | Self::Huber { .. } => return None,
        };
        Some(CrossEntropy { targets, from_logits })
    }

    /// What becomes of the difference between prediction and target.
    fn distance(self) -> Unary {
        match self {
            Self::MeanSquaredError => Unary::Square,
            Self::MeanAbsoluteError => Unary::Abs,
            Self::Huber { delta } => Unary::Huber(delta),
            Self::CategoricalCrossEntropy { .. }
            | Self::SparseCategoricalCrossEntropy { .. }
            | Self::BinaryCrossEntropy { .. }
            | Self::Composed(_) => unreachable!("they take no difference"),
        }
    }
}
