//! Losses that are made of several ops: what Keras has besides cross-entropies and plain distances.
//!
//! The arithmetic is Keras's, with its epsilon of 1e-7.

mod ctc;
mod rows;
mod whole;

use crate::loss::{Axes, Each};
use crate::predicted::Predicted;
use plimsoll_graph::op::{Binary, CrossEntropy, OneHot, Reduction, Softmax, Targets, Unary};
use plimsoll_graph::{Graph, ShapeError, Site, ValueId};
use rows::Rows;
use serde::{Deserialize, Serialize};

const EPSILON: f32 = 1e-7;

/// A loss made of several ops, one number for each row of the predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are Keras's
pub enum Composed {
    /// Targets are moved towards the same for all classes.
    SmoothedCategorical {
        from_logits: bool,
        label_smoothing: f32,
    },
    /// Targets are moved towards one half.
    SmoothedBinary {
        from_logits: bool,
        label_smoothing: f32,
    },
    /// Rows of one class do not count.
    IgnoringSparse {
        from_logits: bool,
        ignore_class: i32,
    },
    /// `balance` is Keras's `alpha` where `apply_class_balancing` says so.
    BinaryFocal {
        balance: Option<f32>,
        gamma: f32,
        from_logits: bool,
        label_smoothing: f32,
    },
    CategoricalFocal {
        alpha: f32,
        gamma: f32,
        from_logits: bool,
        label_smoothing: f32,
    },
    KlDivergence,
    Poisson,
    MeanAbsolutePercentageError,
    MeanSquaredLogarithmicError,
    CosineSimilarity,
    LogCosh,
    Hinge,
    SquaredHinge,
    CategoricalHinge,
    Dice {
        axes: Axes,
    },
    Tversky {
        alpha: f32,
        beta: f32,
        axes: Axes,
    },
    Circle {
        gamma: f32,
        margin: f32,
        remove_diagonal: bool,
    },
    GeneralizedCrossEntropy {
        q: f32,
    },
    Ctc,
}

impl Composed {
    /// Keras's name of the function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SmoothedCategorical { .. } => "categorical_crossentropy",
            Self::SmoothedBinary { .. } => "binary_crossentropy",
            Self::IgnoringSparse { .. } => "sparse_categorical_crossentropy",
            Self::BinaryFocal { .. } => "binary_focal_crossentropy",
            Self::CategoricalFocal { .. } => "categorical_focal_crossentropy",
            Self::KlDivergence => "kl_divergence",
            Self::Poisson => "poisson",
            Self::MeanAbsolutePercentageError => "mean_absolute_percentage_error",
            Self::MeanSquaredLogarithmicError => "mean_squared_logarithmic_error",
            Self::CosineSimilarity => "cosine_similarity",
            Self::LogCosh => "log_cosh",
            Self::Hinge => "hinge",
            Self::SquaredHinge => "squared_hinge",
            Self::CategoricalHinge => "categorical_hinge",
            Self::Dice { .. } => "dice",
            Self::Tversky { .. } => "tversky",
            Self::Circle { .. } => "circle",
            Self::GeneralizedCrossEntropy { .. } => "categorical_generalized_cross_entropy",
            Self::Ctc => "ctc",
        }
    }

    /// What its targets look like and whether predictions are logits, where right predictions can be told as from a
    /// cross-entropy.
    pub(crate) fn cross_entropy(self) -> Option<CrossEntropy> {
        let (targets, from_logits) = match self {
            Self::SmoothedCategorical { from_logits, .. } | Self::CategoricalFocal { from_logits, .. } => {
                (Targets::Categorical, from_logits)
            }
            Self::SmoothedBinary { from_logits, .. } | Self::BinaryFocal { from_logits, .. } => {
                (Targets::Binary, from_logits)
            }
            _ => return None,
        };
        Some(CrossEntropy { targets, from_logits })
    }

    /// Whether targets are the numbers of classes.
    pub(crate) fn is_sparse(self) -> bool {
        matches!(
            self,
            Self::IgnoringSparse { .. } | Self::GeneralizedCrossEntropy { .. } | Self::Circle { .. }
        )
    }

    /// What lets the samples of a batch see each other, if they do.
    pub(crate) fn mixing(self) -> Option<&'static str> {
        match self {
            Self::IgnoringSparse { .. } => Some("the mean over classes that are not ignored"),
            Self::Dice { axes } | Self::Tversky { axes, .. } if axes.may_be_samples() => {
                Some("the overlap that a loss adds up over a whole batch")
            }
            Self::Circle { .. } => Some("the distances between samples that a loss reads"),
            _ => None,
        }
    }

    /// Whether Keras goes back to the logits behind the predictions. A class that is ignored hides them; a focal loss
    /// that is told of logits makes probabilities by itself.
    pub(crate) fn goes_back(self) -> bool {
        match self {
            Self::SmoothedCategorical { .. } | Self::SmoothedBinary { .. } => true,
            Self::BinaryFocal { from_logits, .. } => !from_logits,
            _ => false,
        }
    }

    /// Whether predictions are read beside their logits.
    pub(crate) fn reads_both(self) -> bool {
        matches!(self, Self::BinaryFocal { .. })
    }

    /// Appends the losses of the rows.
    pub(crate) fn add_rows(
        self,
        graph: &mut Graph,
        predicted: &Predicted,
        (targets, real): (ValueId, Option<ValueId>),
        site: Site,
    ) -> Result<Each, ShapeError> {
        let rank = graph.tensor(predicted.value).shape.rank();
        let mut at = Rows { graph, site };
        let (p, t) = (predicted.value, targets);
        let loss = match self {
            Self::SmoothedCategorical { label_smoothing, .. } => {
                let t = at.smoothed(t, label_smoothing, 1.0 / at.classes(p) as f32)?;
                self.of_cross_entropy(&mut at, predicted, t)?
            }
            Self::SmoothedBinary { label_smoothing, .. } => {
                let t = at.smoothed(t, label_smoothing, 0.5)?;
                self.of_cross_entropy(&mut at, predicted, t)?
            }
            Self::IgnoringSparse { from_logits, ignore_class } => {
                let [value, counts] = at.ignoring(from_logits, ignore_class, p, t)?;
                return Ok(Each { counts: Some(counts), ..Each::of(value) });
            }
            Self::BinaryFocal { balance, gamma, from_logits, label_smoothing } => {
                let t = at.smoothed(t, label_smoothing, 0.5)?;
                let logits = if from_logits { Some(p) } else { predicted.logits };
                at.binary_focal(p, t, logits, [Some(gamma), balance], from_logits)?
            }
            Self::CategoricalFocal { alpha, gamma, from_logits, label_smoothing } => {
                let t = at.smoothed(t, label_smoothing, 1.0 / at.classes(p) as f32)?;
                let p = if from_logits { at.op(Softmax {}, &[p])? } else { p };
                at.categorical_focal(p, t, alpha, gamma)?
            }
            Self::KlDivergence => {
                let (t, p) = (at.clipped(t, 1.0)?, at.clipped(p, 1.0)?);
                let ratio = at.op(Binary::Divide, &[t, p])?;
                let log = at.op(Unary::Log, &[ratio])?;
                at.sum_of_products(t, log)?
            }
            Self::Poisson => {
                let shifted = at.op(Unary::AddScalar(EPSILON), &[p])?;
                let log = at.op(Unary::Log, &[shifted])?;
                let product = at.op(Binary::Multiply, &[t, log])?;
                let each = at.op(Binary::Subtract, &[p, product])?;
                at.row(Reduction::Mean, each)?
            }
            Self::MeanAbsolutePercentageError => {
                let size = at.op(Unary::Abs, &[t])?;
                let size = at.op(Unary::MaximumScalar(EPSILON), &[size])?;
                let difference = at.op(Binary::Subtract, &[t, p])?;
                let share = at.op(Binary::Divide, &[difference, size])?;
                let share = at.op(Unary::Abs, &[share])?;
                let mean = at.row(Reduction::Mean, share)?;
                at.op(Unary::MultiplyScalar(100.0), &[mean])?
            }
            Self::MeanSquaredLogarithmicError => {
                let [p, t] = [at.log_above(p)?, at.log_above(t)?];
                let difference = at.op(Binary::Subtract, &[p, t])?;
                let squares = at.op(Unary::Square, &[difference])?;
                at.row(Reduction::Mean, squares)?
            }
            Self::CosineSimilarity => {
                let [p, t] = [at.unit(p)?, at.unit(t)?];
                let sum = at.sum_of_products(t, p)?;
                at.op(Unary::Negate, &[sum])?
            }
            Self::LogCosh => at.log_cosh(p, t)?,
            Self::Hinge | Self::SquaredHinge => {
                let t = at.signs(t)?;
                let product = at.op(Binary::Multiply, &[t, p])?;
                let missing = at.opposite(product)?;
                let mut missing = at.op(Unary::MaximumScalar(0.0), &[missing])?;
                if self == Self::SquaredHinge {
                    missing = at.op(Unary::Square, &[missing])?;
                }
                at.row(Reduction::Mean, missing)?
            }
            Self::CategoricalHinge => {
                let right = at.sum_of_products(t, p)?;
                let others = at.opposite(t)?;
                let others = at.op(Binary::Multiply, &[others, p])?;
                let wrong = at.row(Reduction::Max, others)?;
                let difference = at.op(Binary::Subtract, &[wrong, right])?;
                let shifted = at.op(Unary::AddScalar(1.0), &[difference])?;
                at.op(Unary::MaximumScalar(0.0), &[shifted])?
            }
            Self::Dice { axes } => {
                let value = at.dice([p, t], axes, real)?;
                return Ok(Each { apart: !axes.of(rank).contains(&0), ..Each::of(value) });
            }
            Self::Tversky { alpha, beta, axes } => {
                let value = at.tversky([p, t], [alpha, beta], axes, real)?;
                return Ok(Each { apart: !axes.of(rank).contains(&0), ..Each::of(value) });
            }
            Self::Circle { gamma, margin, remove_diagonal } => {
                let [value, counts] = at.circle([p, t], [gamma, margin], remove_diagonal, real)?;
                return Ok(Each { counts: Some(counts), ..Each::of(value) });
            }
            Self::GeneralizedCrossEntropy { q } => {
                let classes = at.op(OneHot { depth: at.classes(p) }, &[t])?;
                let right = at.sum_of_products(p, classes)?;
                let power = at.op(Unary::PowerScalar(q), &[right])?;
                let missing = at.opposite(power)?;
                at.op(Unary::MultiplyScalar(1.0 / q), &[missing])?
            }
            Self::Ctc => at.ctc(p, t)?,
        };
        Ok(Each::of(loss))
    }

    fn of_cross_entropy(
        self,
        at: &mut Rows<'_>,
        predicted: &Predicted,
        t: ValueId,
    ) -> Result<ValueId, ShapeError> {
        let op = self.cross_entropy().expect("only cross-entropies are smoothed");
        match predicted.logits {
            Some(logits) => at.op(CrossEntropy { from_logits: true, ..op }, &[logits, t]),
            None => at.op(op, &[predicted.value, t]),
        }
    }
}
