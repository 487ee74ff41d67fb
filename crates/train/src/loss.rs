//! Losses: from predictions to the one number that training makes small.
//!
//! In: predictions and targets. Out: the ops that compare them. Names and arithmetic are Keras's.

use crate::TrainError;
use crate::composed::Composed;
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
    /// Any other.
    Composed(Composed),
}

/// The arguments of a loss that are not read yet.
struct Arguments<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Arguments<'a> {
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let position = self.0.iter().position(|(name, _)| *name == key)?;
        Some(self.0.remove(position).1)
    }

    fn number(&mut self, key: &str, default: f32) -> Option<f32> {
        match self.take(key) {
            None => Some(default),
            Some(text) => text.parse().ok().filter(|number: &f32| number.is_finite()),
        }
    }

    /// `label_smoothing`, a share.
    fn share(&mut self) -> Option<f32> {
        self.number("label_smoothing", 0.0).filter(|share| (0.0..=1.0).contains(share))
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        match self.take(key) {
            None | Some("False") => Some(false),
            Some("True") => Some(true),
            Some(_) => None,
        }
    }

    fn integer(&mut self, key: &str) -> Option<Option<i32>> {
        self.take(key)
            .map(|text| text.parse().ok())
            .map_or(Some(None), |number: Option<i32>| number.map(Some))
    }
}

impl Loss {
    /// The loss of that name: a Keras name or short name of a function or a class, possibly followed by arguments, such
    /// as `huber(delta=0.5)` or `binary_crossentropy(from_logits=True, label_smoothing=0.1)`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')')?),
            None => (text, ""),
        };
        let pairs = rest.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=')).collect::<Option<Vec<_>>>()?;
        if text.contains('(') && pairs.is_empty() {
            return None;
        }
        let mut arguments = Arguments(pairs);
        let loss = Self::of(name, &mut arguments)?;
        arguments.0.is_empty().then_some(loss)
    }

    fn of(name: &str, given: &mut Arguments<'_>) -> Option<Self> {
        Some(match name {
            "categorical_crossentropy" => match (given.flag("from_logits")?, given.share()?) {
                (from_logits, 0.0) => Self::CategoricalCrossEntropy { from_logits },
                (from_logits, label_smoothing) => {
                    Self::Composed(Composed::SmoothedCategorical { from_logits, label_smoothing })
                }
            },
            "sparse_categorical_crossentropy" => {
                match (given.flag("from_logits")?, given.integer("ignore_class")?) {
                    (from_logits, None) => Self::SparseCategoricalCrossEntropy { from_logits },
                    (from_logits, Some(ignore_class)) => {
                        Self::Composed(Composed::IgnoringSparse { from_logits, ignore_class })
                    }
                }
            }
            "binary_crossentropy" | "bce" | "BCE" => match (given.flag("from_logits")?, given.share()?) {
                (from_logits, 0.0) => Self::BinaryCrossEntropy { from_logits },
                (from_logits, label_smoothing) => {
                    Self::Composed(Composed::SmoothedBinary { from_logits, label_smoothing })
                }
            },
            "binary_focal_crossentropy" => {
                let (balanced, alpha) = (given.flag("apply_class_balancing")?, given.number("alpha", 0.25)?);
                Self::Composed(Composed::BinaryFocal {
                    balance: balanced.then_some(alpha),
                    gamma: given.number("gamma", 2.0)?,
                    from_logits: given.flag("from_logits")?,
                    label_smoothing: given.share()?,
                })
            }
            "categorical_focal_crossentropy" => Self::Composed(Composed::CategoricalFocal {
                alpha: given.number("alpha", 0.25)?,
                gamma: given.number("gamma", 2.0)?,
                from_logits: given.flag("from_logits")?,
                label_smoothing: given.share()?,
            }),
            "mean_squared_error" | "mse" | "MSE" => Self::MeanSquaredError,
            "mean_absolute_error" | "mae" | "MAE" => Self::MeanAbsoluteError,
            "huber" => Self::Huber { delta: given.number("delta", 1.0).filter(|delta| *delta > 0.0)? },
            "kl_divergence" | "kld" | "KLD" => Self::Composed(Composed::KlDivergence),
            "poisson" => Self::Composed(Composed::Poisson),
            "mean_absolute_percentage_error" | "mape" | "MAPE" => {
                Self::Composed(Composed::MeanAbsolutePercentageError)
            }
            "mean_squared_logarithmic_error" | "msle" | "MSLE" => {
                Self::Composed(Composed::MeanSquaredLogarithmicError)
            }
            "cosine_similarity" => Self::Composed(Composed::CosineSimilarity),
            "log_cosh" => Self::Composed(Composed::LogCosh),
            "hinge" => Self::Composed(Composed::Hinge),
            "squared_hinge" => Self::Composed(Composed::SquaredHinge),
            "categorical_hinge" => Self::Composed(Composed::CategoricalHinge),
            _ => return None,
        })
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
        match (sparse, predictions.shape.extents().split_last()) {
            (true, Some((_, rows))) => Ok(TensorType::i32(Shape::new(rows))),
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
        match self {
            Self::Composed(loss) => loss.goes_back(),
            _ => self.cross_entropy().is_some(),
        }
    }

    /// Whether it divides by something that all samples of a batch have a part in, so that parts of a batch come to
    /// another mean.
    pub fn mixes(self) -> bool {
        matches!(self, Self::Composed(Composed::IgnoringSparse { .. }))
    }

    /// Whether predictions are read beside the logits behind them.
    pub(crate) fn reads_both(self) -> bool {
        matches!(self, Self::Composed(loss) if loss.reads_both())
    }

    /// Appends the losses of these predictions: one for each row, or for each element of a distance; and the mask of
    /// rows that count where the loss has one of its own.
    pub(crate) fn add_each(
        self,
        graph: &mut Graph,
        predicted: &Predicted,
        targets: ValueId,
        site: Site,
    ) -> Result<(ValueId, Option<ValueId>), ShapeError> {
        if let Self::Composed(loss) = self {
            return loss.add_rows(graph, predicted, targets, site);
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
        Ok((each, None))
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

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said: Vec<String> = Vec::new();
        if self.says_logits() {
            said.push("from_logits=True".to_string());
        }
        let mut number = |key: &str, value: f32, default: f32| {
            if value != default {
                said.push(format!("{key}={value}"));
            }
        };
        match *self {
            Self::Huber { delta } => number("delta", delta, 1.0),
            Self::Composed(
                Composed::SmoothedCategorical { label_smoothing, .. }
                | Composed::SmoothedBinary { label_smoothing, .. },
            ) => number("label_smoothing", label_smoothing, 0.0),
            Self::Composed(Composed::IgnoringSparse { from_logits, ignore_class }) => {
                if from_logits {
                    said.push("from_logits=True".to_string());
                }
                said.push(format!("ignore_class={ignore_class}"));
            }
            Self::Composed(Composed::BinaryFocal { balance, gamma, label_smoothing, .. }) => {
                number("gamma", gamma, 2.0);
                number("label_smoothing", label_smoothing, 0.0);
                if let Some(alpha) = balance {
                    said.push(format!("apply_class_balancing=True, alpha={alpha}"));
                }
            }
            Self::Composed(Composed::CategoricalFocal { alpha, gamma, label_smoothing, .. }) => {
                number("alpha", alpha, 0.25);
                number("gamma", gamma, 2.0);
                number("label_smoothing", label_smoothing, 0.0);
            }
            _ => {}
        }
        match said.is_empty() {
            true => f.write_str(self.name()),
            false => write!(f, "{}({})", self.name(), said.join(", ")),
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
            "binary_crossentropy(from_logits=True, label_smoothing=0.1)",
            "sparse_categorical_crossentropy(from_logits=True, ignore_class=-1)",
            "binary_focal_crossentropy(gamma=3, apply_class_balancing=True, alpha=0.3)",
            "categorical_focal_crossentropy(alpha=0.5)",
            "kl_divergence",
            "poisson",
            "mean_absolute_percentage_error",
            "mean_squared_logarithmic_error",
            "cosine_similarity",
            "log_cosh",
            "hinge",
            "squared_hinge",
            "categorical_hinge",
        ];
        for name in names {
            assert_eq!(Loss::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(Loss::parse("mse"), Some(Loss::MeanSquaredError));
        assert_eq!(Loss::parse("mae"), Some(Loss::MeanAbsoluteError));
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "dice",
            "mse(delta=1)",
            "mse()",
            "binary_crossentropy(label_smoothing=2)",
            "huber(delta=-1)",
            "huber(x=1)",
            "huber(delta=1",
            "mse(",
        ] {
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
