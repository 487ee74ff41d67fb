//! Losses that are made of several ops: what Keras has besides cross-entropies and plain distances.
//!
//! The arithmetic is Keras's, with its epsilon of 1e-7.

use crate::predicted::Predicted;
use plimsoll_graph::op::{
    Binary, Cast, CrossEntropy, Fill, NotEqual, Reduce, Reduction, Reshape, Softmax, Targets, Unary,
};
use plimsoll_graph::{ElementType, Graph, OpKind, Shape, ShapeError, Site, ValueId};
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
        matches!(self, Self::IgnoringSparse { .. })
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

    /// Appends the losses of the rows, and the mask of those that count where the loss has one of its own.
    pub(crate) fn add_rows(
        self,
        graph: &mut Graph,
        predicted: &Predicted,
        targets: ValueId,
        site: Site,
    ) -> Result<(ValueId, Option<ValueId>), ShapeError> {
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
                return at.ignoring(from_logits, ignore_class, p, t);
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
        };
        Ok((loss, None))
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

/// The graph that losses are added to.
struct Rows<'a> {
    graph: &'a mut Graph,
    site: Site,
}

impl Rows<'_> {
    fn op(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<ValueId, ShapeError> {
        self.graph.add_single(kind.into(), inputs, self.site)
    }

    fn classes(&self, value: ValueId) -> usize {
        self.graph.tensor(value).shape.last()
    }

    /// A row as one number.
    fn row(&mut self, reduction: Reduction, value: ValueId) -> Result<ValueId, ShapeError> {
        let last = self.graph.tensor(value).shape.rank() - 1;
        self.op(Reduce { reduction, axes: vec![last], keep_axes: false }, &[value])
    }

    fn sum_of_products(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, ShapeError> {
        let products = self.op(Binary::Multiply, &[a, b])?;
        self.row(Reduction::Sum, products)
    }

    fn scalar(&mut self, value: f32) -> Result<ValueId, ShapeError> {
        self.op(Fill { shape: Shape::scalar(), value }, &[])
    }

    /// `1 - x`
    fn opposite(&mut self, x: ValueId) -> Result<ValueId, ShapeError> {
        let turned = self.op(Unary::Negate, &[x])?;
        self.op(Unary::AddScalar(1.0), &[turned])
    }

    fn clipped(&mut self, x: ValueId, most: f32) -> Result<ValueId, ShapeError> {
        let above = self.op(Unary::MaximumScalar(EPSILON), &[x])?;
        let most = self.scalar(most)?;
        self.op(Binary::Minimum, &[above, most])
    }

    /// `(1 - share) t + share middle`
    fn smoothed(&mut self, t: ValueId, share: f32, middle: f32) -> Result<ValueId, ShapeError> {
        if share == 0.0 {
            return Ok(t);
        }
        let kept = self.op(Unary::MultiplyScalar(1.0 - share), &[t])?;
        self.op(Unary::AddScalar(share * middle), &[kept])
    }

    fn ignoring(
        &mut self,
        from_logits: bool,
        ignored: i32,
        p: ValueId,
        t: ValueId,
    ) -> Result<(ValueId, Option<ValueId>), ShapeError> {
        let mask = self.op(NotEqual { value: ignored }, &[t])?;
        // Rows that are ignored get a class that exists.
        let labels = self.op(Cast { to: ElementType::F32 }, &[t])?;
        let labels = self.op(Binary::Multiply, &[labels, mask])?;
        let labels = self.op(Cast { to: ElementType::I32 }, &[labels])?;
        let mut column = self.graph.tensor(mask).shape.extents().to_vec();
        column.push(1);
        let factor = self.op(Reshape { shape: Shape::new(column) }, &[mask])?;
        let p = self.op(Binary::Multiply, &[p, factor])?;
        let loss = self.op(CrossEntropy { targets: Targets::Sparse, from_logits }, &[p, labels])?;
        Ok((self.op(Binary::Multiply, &[loss, mask])?, Some(mask)))
    }

    fn binary_focal(
        &mut self,
        p: ValueId,
        t: ValueId,
        logits: Option<ValueId>,
        [gamma, balance]: [Option<f32>; 2],
        from_logits: bool,
    ) -> Result<ValueId, ShapeError> {
        let p = if from_logits { self.op(Unary::Sigmoid, &[p])? } else { p };
        let (not_t, not_p) = (self.opposite(t)?, self.opposite(p)?);
        let entropy = match logits {
            Some(logits) => {
                let softplus = self.op(Unary::Softplus, &[logits])?;
                let product = self.op(Binary::Multiply, &[logits, t])?;
                self.op(Binary::Subtract, &[softplus, product])?
            }
            None => {
                let p = self.clipped(p, 1.0 - EPSILON)?;
                let not_p = self.opposite(p)?;
                let [yes, no] = [self.op(Unary::Log, &[p])?, self.op(Unary::Log, &[not_p])?];
                let (yes, no) =
                    (self.op(Binary::Multiply, &[t, yes])?, self.op(Binary::Multiply, &[not_t, no])?);
                let sum = self.op(Binary::Add, &[yes, no])?;
                self.op(Unary::Negate, &[sum])?
            }
        };
        let (yes, no) = (self.op(Binary::Multiply, &[t, p])?, self.op(Binary::Multiply, &[not_t, not_p])?);
        let right = self.op(Binary::Add, &[yes, no])?;
        let wrong = self.opposite(right)?;
        let factor = self.op(Unary::PowerScalar(gamma.unwrap_or(2.0)), &[wrong])?;
        let mut each = self.op(Binary::Multiply, &[factor, entropy])?;
        if let Some(alpha) = balance {
            let ones = self.op(Unary::MultiplyScalar(alpha), &[t])?;
            let zeros = self.op(Unary::MultiplyScalar(1.0 - alpha), &[not_t])?;
            let weight = self.op(Binary::Add, &[ones, zeros])?;
            each = self.op(Binary::Multiply, &[weight, each])?;
        }
        self.row(Reduction::Mean, each)
    }

    fn categorical_focal(
        &mut self,
        p: ValueId,
        t: ValueId,
        alpha: f32,
        gamma: f32,
    ) -> Result<ValueId, ShapeError> {
        let last = self.graph.tensor(p).shape.rank() - 1;
        let sum = self.op(Reduce { reduction: Reduction::Sum, axes: vec![last], keep_axes: true }, &[p])?;
        let share = self.op(Binary::Divide, &[p, sum])?;
        let share = self.clipped(share, 1.0 - EPSILON)?;
        let log = self.op(Unary::Log, &[share])?;
        let entropy = self.op(Binary::Multiply, &[t, log])?;
        let wrong = self.opposite(share)?;
        let factor = self.op(Unary::PowerScalar(gamma), &[wrong])?;
        let factor = self.op(Unary::MultiplyScalar(-alpha), &[factor])?;
        self.sum_of_products(factor, entropy)
    }

    /// `log(max(x, eps) + 1)`
    fn log_above(&mut self, x: ValueId) -> Result<ValueId, ShapeError> {
        let above = self.op(Unary::MaximumScalar(EPSILON), &[x])?;
        let shifted = self.op(Unary::AddScalar(1.0), &[above])?;
        self.op(Unary::Log, &[shifted])
    }

    /// Rows of length 1.
    fn unit(&mut self, x: ValueId) -> Result<ValueId, ShapeError> {
        let last = self.graph.tensor(x).shape.rank() - 1;
        let squares = self.op(Unary::Square, &[x])?;
        let sum =
            self.op(Reduce { reduction: Reduction::Sum, axes: vec![last], keep_axes: true }, &[squares])?;
        let inverse = self.op(Unary::Rsqrt, &[sum])?;
        let most = self.scalar(1.0 / EPSILON)?;
        let inverse = self.op(Binary::Minimum, &[inverse, most])?;
        self.op(Binary::Multiply, &[x, inverse])
    }

    /// `x + softplus(-2 x) - log 2` of the difference.
    fn log_cosh(&mut self, p: ValueId, t: ValueId) -> Result<ValueId, ShapeError> {
        let x = self.op(Binary::Subtract, &[p, t])?;
        let turned = self.op(Unary::MultiplyScalar(-2.0), &[x])?;
        let softplus = self.op(Unary::Softplus, &[turned])?;
        let sum = self.op(Binary::Add, &[x, softplus])?;
        let each = self.op(Unary::AddScalar(-std::f32::consts::LN_2), &[sum])?;
        self.row(Reduction::Mean, each)
    }

    /// Targets of 0 and 1 as -1 and 1; others, if there is one in the batch, leave all as they are.
    fn signs(&mut self, t: ValueId) -> Result<ValueId, ShapeError> {
        let less = self.op(Unary::AddScalar(-1.0), &[t])?;
        // 0 for 0 and 1 alone.
        let product = self.op(Binary::Multiply, &[t, less])?;
        let size = self.op(Unary::Abs, &[product])?;
        let rank = self.graph.tensor(t).shape.rank();
        let largest = self.op(Reduce::all(Reduction::Max, rank), &[size])?;
        let zero = self.scalar(0.0)?;
        let binary = self.op(Binary::GreaterEqual, &[zero, largest])?;
        let moved = self.op(Binary::Multiply, &[less, binary])?;
        self.op(Binary::Add, &[t, moved])
    }
}
