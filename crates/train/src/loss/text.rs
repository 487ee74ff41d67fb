//! Losses as text: `huber(delta=0.5)`, as Keras names them and their arguments.

use super::{Axes, Loss};
use crate::composed::Composed;
use std::fmt;

impl Loss {
    /// The loss of that name: a Keras name or short name of a function or a class, possibly followed by arguments, such
    /// as `huber(delta=0.5)` or `binary_crossentropy(from_logits=True, label_smoothing=0.1)`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')')?),
            None => (text, ""),
        };
        let mut arguments = Arguments::parse(rest)?;
        if text.contains('(') && arguments.0.is_empty() {
            return None;
        }
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
            "dice" => Self::Composed(Composed::Dice { axes: given.axes()? }),
            "tversky" => Self::Composed(Composed::Tversky {
                alpha: given.number("alpha", 0.5)?,
                beta: given.number("beta", 0.5)?,
                axes: given.axes()?,
            }),
            "circle" => Self::Composed(Composed::Circle {
                gamma: given.number("gamma", 80.0)?,
                margin: given.number("margin", 0.4)?,
                remove_diagonal: given.flag_or("remove_diagonal", true)?,
            }),
            "categorical_generalized_cross_entropy" => Self::Composed(Composed::GeneralizedCrossEntropy {
                q: given.number("q", 0.5).filter(|q| *q > 0.0 && *q < 1.0)?,
            }),
            "ctc" => Self::Composed(Composed::Ctc),
            _ => return None,
        })
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
            Self::Composed(Composed::Dice { axes }) => said.extend(named(axes)),
            Self::Composed(Composed::Tversky { alpha, beta, axes }) => {
                number("alpha", alpha, 0.5);
                number("beta", beta, 0.5);
                said.extend(named(axes));
            }
            Self::Composed(Composed::Circle { gamma, margin, remove_diagonal }) => {
                number("gamma", gamma, 80.0);
                number("margin", margin, 0.4);
                if !remove_diagonal {
                    said.push("remove_diagonal=False".to_string());
                }
            }
            Self::Composed(Composed::GeneralizedCrossEntropy { q }) => number("q", q, 0.5),
            _ => {}
        }
        match said.is_empty() {
            true => f.write_str(self.name()),
            false => write!(f, "{}({})", self.name(), said.join(", ")),
        }
    }
}

fn named(axes: Axes) -> Option<String> {
    (axes != Axes::default()).then(|| format!("axis={axes}"))
}

/// The arguments of a loss that are not read yet.
struct Arguments<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Arguments<'a> {
    /// Reads `a=1, b=[2, 3]`.
    fn parse(text: &'a str) -> Option<Self> {
        let (mut pairs, mut rest) = (Vec::new(), text);
        while !rest.trim().is_empty() {
            let (key, after) = rest.split_once('=')?;
            let listed = if after.starts_with('[') { after.find(']')? } else { 0 };
            let end = after[listed..].find(',').map_or(after.len(), |end| listed + end);
            pairs.push((key.trim(), after[..end].trim()));
            rest = after[end..].strip_prefix(',').unwrap_or("");
        }
        Some(Self(pairs))
    }

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
        self.flag_or(key, false)
    }

    fn flag_or(&mut self, key: &str, default: bool) -> Option<bool> {
        match self.take(key) {
            None => Some(default),
            Some("False") => Some(false),
            Some("True") => Some(true),
            Some(_) => None,
        }
    }

    fn axes(&mut self) -> Option<Axes> {
        self.take("axis").map_or(Some(Axes::default()), Axes::parse)
    }

    fn integer(&mut self, key: &str) -> Option<Option<i32>> {
        self.take(key)
            .map(|text| text.parse().ok())
            .map_or(Some(None), |number: Option<i32>| number.map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainError;
    use plimsoll_graph::TensorType;

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
            "dice",
            "dice(axis=[1, 2, -1])",
            "tversky(alpha=0.3, beta=0.7, axis=[1])",
            "circle(gamma=64, remove_diagonal=False)",
            "categorical_generalized_cross_entropy(q=0.7)",
            "ctc",
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
            "jaccard",
            "dice(axis=[1,)",
            "dice(axis=[1], axis=[2])",
            "categorical_generalized_cross_entropy(q=1)",
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
            ("dice", "f32[8,5,10]"),
            ("circle", "i32[8,5]"),
            ("ctc", "i32[8,5]"),
            ("categorical_generalized_cross_entropy", "i32[8,5]"),
        ];
        for (name, wanted) in cases {
            assert_eq!(Loss::parse(name).unwrap().targets(&predictions).unwrap().to_string(), wanted);
        }
        let scalar = TensorType::f32([]);
        assert_eq!(Loss::MeanSquaredError.targets(&scalar), Err(TrainError::ScalarPredictions));
    }
}
