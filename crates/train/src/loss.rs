//! Losses: from predictions to the one number that training makes small.
//!
//! In: predictions and targets. Out: the ops that compare them. Names and arithmetic are Keras's.

use crate::TrainError;
use crate::predicted::Predicted;
use plimsoll_graph::op::{Binary, CrossEntropy, Targets, Unary};
use plimsoll_graph::{Graph, Shape, ShapeError, Site, TensorType, ValueId};
use serde::{Deserialize, Serialize};
use std::fmt;

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
}

impl Loss {
    /// The loss of that name: a Keras name or short name, for cross-entropies possibly followed by
    /// `(from_logits=True)`, for `huber` by `(delta=...)`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, argument) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')')?.split_once('=')?)),
            None => (text, None),
        };
        let from_logits = match argument {
            None | Some(("from_logits", "False")) => Some(false),
            Some(("from_logits", "True")) => Some(true),
            _ => None,
        };
        match name {
            "categorical_crossentropy" => Some(Self::CategoricalCrossEntropy { from_logits: from_logits? }),
            "sparse_categorical_crossentropy" => {
                Some(Self::SparseCategoricalCrossEntropy { from_logits: from_logits? })
            }
            "binary_crossentropy" | "bce" | "BCE" => {
                Some(Self::BinaryCrossEntropy { from_logits: from_logits? })
            }
            "mean_squared_error" | "mse" | "MSE" if argument.is_none() => Some(Self::MeanSquaredError),
            "mean_absolute_error" | "mae" | "MAE" if argument.is_none() => Some(Self::MeanAbsoluteError),
            "huber" => match argument {
                None => Some(Self::Huber { delta: 1.0 }),
                Some(("delta", delta)) => {
                    let delta = delta.parse().ok().filter(|delta: &f32| delta.is_finite() && *delta > 0.0)?;
                    Some(Self::Huber { delta })
                }
                Some(_) => None,
            },
            _ => None,
        }
    }

    /// The Keras name, without arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::CategoricalCrossEntropy { .. } => "categorical_crossentropy",
            Self::SparseCategoricalCrossEntropy { .. } => "sparse_categorical_crossentropy",
            Self::BinaryCrossEntropy { .. } => "binary_crossentropy",
            Self::MeanSquaredError => "mean_squared_error",
            Self::MeanAbsoluteError => "mean_absolute_error",
            Self::Huber { .. } => "huber",
        }
    }

    /// The type of the targets that go with predictions of a type.
    pub fn targets(self, predictions: &TensorType) -> Result<TensorType, TrainError> {
        match (self.cross_entropy(), predictions.shape.extents().split_last()) {
            (Some(op), Some((_, rows))) if op.targets == Targets::Sparse => {
                Ok(TensorType::i32(Shape::new(rows)))
            }
            (_, Some(_)) => Ok(TensorType::f32(predictions.shape.clone())),
            (_, None) => Err(TrainError::ScalarPredictions),
        }
    }

    /// Whether it was told that predictions are logits.
    pub(crate) fn says_logits(self) -> bool {
        self.cross_entropy().is_some_and(|op| op.from_logits)
    }

    /// Whether it is computed from the logits of a softmax or a sigmoid where these are known, as Keras does.
    pub(crate) fn goes_back(self) -> bool {
        self.cross_entropy().is_some()
    }

    /// Appends the losses of these predictions: one for each row of a cross-entropy, one for each element of a
    /// distance.
    pub(crate) fn add_each(
        self,
        graph: &mut Graph,
        predicted: &Predicted,
        targets: ValueId,
        site: Site,
    ) -> Result<ValueId, ShapeError> {
        match (self.cross_entropy(), predicted.logits) {
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
        }
    }

    /// What its targets look like and whether predictions are logits, if it is a cross-entropy.
    pub fn cross_entropy(self) -> Option<CrossEntropy> {
        let (targets, from_logits) = match self {
            Self::CategoricalCrossEntropy { from_logits } => (Targets::Categorical, from_logits),
            Self::SparseCategoricalCrossEntropy { from_logits } => (Targets::Sparse, from_logits),
            Self::BinaryCrossEntropy { from_logits } => (Targets::Binary, from_logits),
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
            | Self::BinaryCrossEntropy { .. } => unreachable!("cross-entropies take no difference"),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let logits = self.says_logits();
        match *self {
            _ if logits => write!(f, "{}(from_logits=True)", self.name()),
            Self::Huber { delta } if delta != 1.0 => write!(f, "huber(delta={delta})"),
            _ => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let names = [
            "categorical_crossentropy",
            "sparse_categorical_crossentropy",
            "sparse_categorical_crossentropy(from_logits=True)",
            "binary_crossentropy(from_logits=True)",
            "mean_squared_error",
            "mean_absolute_error",
            "huber",
            "huber(delta=0.5)",
        ];
        for name in names {
            assert_eq!(Loss::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(Loss::parse("mse"), Some(Loss::MeanSquaredError));
        assert_eq!(Loss::parse("mae"), Some(Loss::MeanAbsoluteError));
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "hinge", "mse(delta=1)", "huber(delta=-1)", "huber(x=1)", "huber(delta=1", "mse("] {
            assert_eq!(Loss::parse(name), None, "{name}");
        }
        assert_eq!(Loss::parse("binary_crossentropy(from_logits=yes)"), None);
    }

    #[test]
    fn targets_have_the_type_the_loss_wants() {
        let predictions = TensorType::f32([8, 5, 10]);
        let cases = [
            ("sparse_categorical_crossentropy", "i32[8,5]"),
            ("categorical_crossentropy", "f32[8,5,10]"),
            ("binary_crossentropy", "f32[8,5,10]"),
            ("mse", "f32[8,5,10]"),
        ];
        for (name, wanted) in cases {
            assert_eq!(Loss::parse(name).unwrap().targets(&predictions).unwrap().to_string(), wanted);
        }
        let scalar = TensorType::f32([]);
        assert_eq!(Loss::MeanSquaredError.targets(&scalar), Err(TrainError::ScalarPredictions));
    }
}
