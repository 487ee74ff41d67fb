//! The graph that losses are added to, and what several of them are made of.

use super::EPSILON;
use plimsoll_graph::op::{
    Binary, Cast, CrossEntropy, Fill, NotEqual, Reduce, Reduction, Reshape, Targets, Unary,
};
use plimsoll_graph::{ElementType, Graph, OpKind, Shape, ShapeError, Site, ValueId};

/// The graph that losses are added to.
pub(super) struct Rows<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) site: Site,
}

impl Rows<'_> {
    pub(super) fn op(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<ValueId, ShapeError> {
        self.graph.add_single(kind.into(), inputs, self.site)
    }

    pub(super) fn classes(&self, value: ValueId) -> usize {
        self.graph.tensor(value).shape.last()
    }

    /// A row as one number.
    pub(super) fn row(&mut self, reduction: Reduction, value: ValueId) -> Result<ValueId, ShapeError> {
        let last = self.graph.tensor(value).shape.rank() - 1;
        self.op(Reduce { reduction, axes: vec![last], keep_axes: false }, &[value])
    }

    pub(super) fn sum_of_products(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, ShapeError> {
        let products = self.op(Binary::Multiply, &[a, b])?;
        self.row(Reduction::Sum, products)
    }

    pub(super) fn scalar(&mut self, value: f32) -> Result<ValueId, ShapeError> {
        self.op(Fill { shape: Shape::scalar(), value }, &[])
    }

    /// `1 - x`
    pub(super) fn opposite(&mut self, x: ValueId) -> Result<ValueId, ShapeError> {
        let turned = self.op(Unary::Negate, &[x])?;
        self.op(Unary::AddScalar(1.0), &[turned])
    }

    pub(super) fn clipped(&mut self, x: ValueId, most: f32) -> Result<ValueId, ShapeError> {
        let above = self.op(Unary::MaximumScalar(EPSILON), &[x])?;
        let most = self.scalar(most)?;
        self.op(Binary::Minimum, &[above, most])
    }

    /// `(1 - share) t + share middle`
    pub(super) fn smoothed(&mut self, t: ValueId, share: f32, middle: f32) -> Result<ValueId, ShapeError> {
        if share == 0.0 {
            return Ok(t);
        }
        let kept = self.op(Unary::MultiplyScalar(1.0 - share), &[t])?;
        self.op(Unary::AddScalar(share * middle), &[kept])
    }

    pub(super) fn ignoring(
        &mut self,
        from_logits: bool,
        ignored: i32,
        p: ValueId,
        t: ValueId,
    ) -> Result<[ValueId; 2], ShapeError> {
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
        Ok([self.op(Binary::Multiply, &[loss, mask])?, mask])
    }

    pub(super) fn binary_focal(
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

    pub(super) fn categorical_focal(
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
    pub(super) fn log_above(&mut self, x: ValueId) -> Result<ValueId, ShapeError> {
        let above = self.op(Unary::MaximumScalar(EPSILON), &[x])?;
        let shifted = self.op(Unary::AddScalar(1.0), &[above])?;
        self.op(Unary::Log, &[shifted])
    }

    /// Rows of length 1.
    pub(super) fn unit(&mut self, x: ValueId) -> Result<ValueId, ShapeError> {
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
    pub(super) fn log_cosh(&mut self, p: ValueId, t: ValueId) -> Result<ValueId, ShapeError> {
        let x = self.op(Binary::Subtract, &[p, t])?;
        let turned = self.op(Unary::MultiplyScalar(-2.0), &[x])?;
        let softplus = self.op(Unary::Softplus, &[turned])?;
        let sum = self.op(Binary::Add, &[x, softplus])?;
        let each = self.op(Unary::AddScalar(-std::f32::consts::LN_2), &[sum])?;
        self.row(Reduction::Mean, each)
    }

    /// Targets of 0 and 1 as -1 and 1; others, if there is one in the batch, leave all as they are.
    pub(super) fn signs(&mut self, t: ValueId) -> Result<ValueId, ShapeError> {
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
