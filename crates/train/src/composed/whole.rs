//! Losses in which the samples of a batch meet: overlaps added up over all of it, and distances between its samples.
//!
//! `real` has 1 for each sample of the batch and 0 for what only fills it up; nothing where all are real.

use super::{EPSILON, Rows};
use crate::loss::Axes;
use plimsoll_graph::op::{Binary, Cast, Cumulate, Fill, MatMul, Reduce, Reduction, Reshape, Select, Unary};
use plimsoll_graph::{ElementType, Shape, ShapeError, ValueId};

/// Stands for minus infinity where a sum of exponentials leaves something out: gradients stay finite.
const NOTHING: f32 = -1e30;

impl Rows<'_> {
    /// `1 - 2 sum(t p) / (sum(t) + sum(p))`
    pub(super) fn dice(
        &mut self,
        [p, t]: [ValueId; 2],
        axes: Axes,
        real: Option<ValueId>,
    ) -> Result<ValueId, ShapeError> {
        let [p, t] = [self.without_filling(p, real)?, self.without_filling(t, real)?];
        let both = self.product_over(axes, [t, p])?;
        let twice = self.op(Unary::MultiplyScalar(2.0), &[both])?;
        let (of_t, of_p) = (self.sum_over(axes, t)?, self.sum_over(axes, p)?);
        let all = self.op(Binary::Add, &[of_t, of_p])?;
        self.missing_share(twice, all)
    }

    /// `1 - sum(t p) / (sum(t p) + alpha sum(t (1 - p)) + beta sum((1 - t) p))`
    pub(super) fn tversky(
        &mut self,
        [p, t]: [ValueId; 2],
        [alpha, beta]: [f32; 2],
        axes: Axes,
        real: Option<ValueId>,
    ) -> Result<ValueId, ShapeError> {
        let [p, t] = [self.without_filling(p, real)?, self.without_filling(t, real)?];
        let (not_p, not_t) = (self.opposite(p)?, self.opposite(t)?);
        let both = self.product_over(axes, [t, p])?;
        let (only_t, only_p) = (self.product_over(axes, [not_p, t])?, self.product_over(axes, [p, not_t])?);
        let only_t = self.op(Unary::MultiplyScalar(alpha), &[only_t])?;
        let only_p = self.op(Unary::MultiplyScalar(beta), &[only_p])?;
        let all = self.op(Binary::Add, &[both, only_t])?;
        let all = self.op(Binary::Add, &[all, only_p])?;
        self.missing_share(both, all)
    }

    /// Circle Loss (Sun et al., 2020) of embeddings against the others of the batch, and which rows count: those that
    /// have both a sample of their class and one of another.
    pub(super) fn circle(
        &mut self,
        [p, t]: [ValueId; 2],
        [gamma, margin]: [f32; 2],
        remove_diagonal: bool,
        real: Option<ValueId>,
    ) -> Result<[ValueId; 2], ShapeError> {
        let similarity = self.op(MatMul { transpose_b: true, ..MatMul::default() }, &[p, p])?;
        let distance = self.opposite(similarity)?;
        let distance = self.op(Unary::MaximumScalar(0.0), &[distance])?;
        let [same, other] = self.pairs(t, remove_diagonal, real)?;
        let near = self.op(Unary::AddScalar(margin), &[distance])?;
        let less = self.op(Unary::Negate, &[distance])?;
        let far = self.op(Unary::AddScalar(1.0 + margin), &[less])?;
        let (from_near, from_far) =
            (self.op(Unary::AddScalar(margin), &[less])?, self.op(Unary::AddScalar(1.0 - margin), &[less])?);
        let positive = self.weighted_pairs(near, same, from_near, -gamma)?;
        let negative = self.weighted_pairs(far, other, from_far, gamma)?;
        let sum = self.op(Binary::Add, &[positive, negative])?;
        let loss = self.op(Unary::Softplus, &[sum])?;
        // TensorFlow takes what is smaller for 0.
        let least = self.scalar(f32::MIN_POSITIVE)?;
        let mut counts = self.op(Binary::GreaterEqual, &[loss, least])?;
        if let Some(real) = real {
            counts = self.op(Binary::Multiply, &[counts, real])?;
        }
        Ok([loss, counts])
    }

    /// 1 for pairs of samples of one class, and 1 for pairs of two classes.
    fn pairs(
        &mut self,
        t: ValueId,
        remove_diagonal: bool,
        real: Option<ValueId>,
    ) -> Result<[ValueId; 2], ShapeError> {
        let labels = self.op(Cast { to: ElementType::F32 }, &[t])?;
        let mut same = self.equal_pairs(labels)?;
        let mut other = self.opposite(same)?;
        if remove_diagonal {
            let samples = self.graph.tensor(labels).shape.clone();
            let ones = self.op(Fill { shape: samples, value: 1.0 }, &[])?;
            let numbers = self.op(Cumulate::default(), &[ones])?;
            let diagonal = self.equal_pairs(numbers)?;
            let rest = self.opposite(diagonal)?;
            same = self.op(Binary::Multiply, &[same, rest])?;
        }
        if let Some(real) = real {
            let row = self.lying(real)?;
            same = self.op(Binary::Multiply, &[same, row])?;
            other = self.op(Binary::Multiply, &[other, row])?;
        }
        Ok([same, other])
    }

    fn equal_pairs(&mut self, of: ValueId) -> Result<ValueId, ShapeError> {
        let samples = self.graph.tensor(of).shape[0];
        let column = self.op(Reshape { shape: [samples, 1].into() }, &[of])?;
        let row = self.lying(of)?;
        self.op(Binary::Equal, &[column, row])
    }

    fn lying(&mut self, of: ValueId) -> Result<ValueId, ShapeError> {
        let samples = self.graph.tensor(of).shape[0];
        self.op(Reshape { shape: [1, samples].into() }, &[of])
    }

    /// `log sum exp(gamma max(weight, 0) distance)` over the pairs.
    fn weighted_pairs(
        &mut self,
        weight: ValueId,
        pairs: ValueId,
        distance: ValueId,
        gamma: f32,
    ) -> Result<ValueId, ShapeError> {
        let weight = self.op(Binary::Multiply, &[weight, pairs])?;
        let weight = self.op(Unary::MaximumScalar(0.0), &[weight])?;
        let weight = self.op(Unary::MultiplyScalar(gamma), &[weight])?;
        let each = self.op(Binary::Multiply, &[weight, distance])?;
        let nothing = self.scalar(NOTHING)?;
        let each = self.op(Select {}, &[pairs, each, nothing])?;
        self.log_sum_of_row(each)
    }

    /// `1 - part / (all + epsilon)`
    fn missing_share(&mut self, part: ValueId, all: ValueId) -> Result<ValueId, ShapeError> {
        let all = self.op(Unary::AddScalar(EPSILON), &[all])?;
        let share = self.op(Binary::Divide, &[part, all])?;
        self.opposite(share)
    }

    fn product_over(&mut self, axes: Axes, [a, b]: [ValueId; 2]) -> Result<ValueId, ShapeError> {
        let products = self.op(Binary::Multiply, &[a, b])?;
        self.sum_over(axes, products)
    }

    fn sum_over(&mut self, axes: Axes, value: ValueId) -> Result<ValueId, ShapeError> {
        let axes = axes.of(self.graph.tensor(value).shape.rank());
        self.op(Reduce { reduction: Reduction::Sum, axes, keep_axes: false }, &[value])
    }

    fn without_filling(&mut self, value: ValueId, real: Option<ValueId>) -> Result<ValueId, ShapeError> {
        let Some(real) = real else { return Ok(value) };
        let shape = &self.graph.tensor(value).shape;
        let mut extents = vec![1; shape.rank()];
        extents[0] = shape[0];
        let factor = self.op(Reshape { shape: Shape::new(extents) }, &[real])?;
        self.op(Binary::Multiply, &[value, factor])
    }
}
