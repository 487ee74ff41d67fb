//! What a model adds to the loss by itself: Keras's regularizers, of weights and of what layers give.
//!
//! In: a graph with everything that is regularized. Out: the same graph with its penalties: a scalar for each weight
//! that is trained, and one number a sample for each result, whose mean over the batch counts.

use crate::layer::Signal;
use plimsoll_graph::op::{Binary, MatMul, Reduce, Reduction, Reshape, Unary};
use plimsoll_graph::{Graph, LayerId, OpKind, Phase, Role, Shape, ShapeError, Site, ValueId};
use serde::{Deserialize, Serialize};

/// Something that is added to the loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Penalty {
    /// Of what.
    pub of: Penalized,
    /// How much.
    pub regularizer: Regularizer,
}

/// What a penalty is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Penalized {
    /// A weight, by its name; it counts only while it is trained.
    Weight(String),
    /// The result of a node, by its position.
    Result(usize),
}

/// How large something is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regularizer {
    /// `l1 sum(|x|) + l2 sum(x^2)`
    Norms {
        /// Of absolute values.
        l1: f64,
        /// Of squares.
        l2: f64,
    },
    /// How far the rows of a matrix, or its columns, are from orthogonal: the mean size of the products of two of them,
    /// each made a unit vector. Of weights alone: of results it would let samples see each other.
    Orthogonal {
        /// What the mean is multiplied by.
        factor: f64,
        /// Whether columns are meant.
        columns: bool,
    },
}

/// The shortest length that a vector is divided by: Keras's epsilon.
const SHORTEST: f32 = 1e-7;

impl Penalty {
    /// Appends the penalty to a graph for so many samples, which has a layer for each node.
    pub(crate) fn add(&self, graph: &mut Graph, results: &[Signal], batch: usize) -> Result<(), ShapeError> {
        let sum = match &self.of {
            Penalized::Weight(name) => {
                let trained = |&id: &ValueId| graph.value(id).role == Role::Parameter;
                let Some(weight) = graph.find(name).filter(trained) else { return Ok(()) };
                let site = Site { layer: graph.value(weight).layer, phase: Phase::Forward };
                Adding { graph, site }.of_weight(weight, self.regularizer)?
            }
            Penalized::Result(node) => {
                let Some(result) = results.get(*node) else { return Ok(()) };
                let site = Site::forward(LayerId(*node as u32));
                Adding { graph, site }.of_result(result.value, self.regularizer, batch)?
            }
        };
        sum.into_iter().for_each(|sum| graph.add_penalty(sum));
        Ok(())
    }
}

/// A penalty under construction.
struct Adding<'a> {
    graph: &'a mut Graph,
    site: Site,
}

impl Adding<'_> {
    fn of_weight(
        &mut self,
        weight: ValueId,
        regularizer: Regularizer,
    ) -> Result<Option<ValueId>, ShapeError> {
        match regularizer {
            Regularizer::Norms { l1, l2 } => {
                let axes = (0..self.shape(weight).rank()).collect();
                self.norms(weight, [l1, l2], axes)
            }
            Regularizer::Orthogonal { factor, columns } => self.orthogonal(weight, factor, columns).map(Some),
        }
    }

    /// One number a sample, also where a sample is several rows.
    fn of_result(
        &mut self,
        result: ValueId,
        regularizer: Regularizer,
        batch: usize,
    ) -> Result<Option<ValueId>, ShapeError> {
        let shape = self.shape(result);
        let Regularizer::Norms { l1, l2 } = regularizer else {
            let problem = "an orthogonal regularizer of what a layer gives is not supported".to_string();
            return Err(self.refusal(result, problem));
        };
        if !shape.elements().is_multiple_of(batch) {
            return Err(self.refusal(result, "it is not one value for each sample".to_string()));
        }
        let rows = Reshape { shape: Shape::new([batch, shape.elements() / batch]) };
        let rows = self.add(rows, &[result])?;
        self.norms(rows, [l1, l2], vec![1])
    }

    /// `l1 sum(|x|) + l2 sum(x^2)` along axes.
    fn norms(
        &mut self,
        x: ValueId,
        factors: [f64; 2],
        axes: Vec<usize>,
    ) -> Result<Option<ValueId>, ShapeError> {
        let mut total = None;
        for (function, factor) in [Unary::Abs, Unary::Square].into_iter().zip(factors) {
            if factor == 0.0 {
                continue;
            }
            let each = self.add(function, &[x])?;
            let sum = Reduce { reduction: Reduction::Sum, axes: axes.clone(), keep_axes: false };
            let sum = self.add(sum, &[each])?;
            let scaled = self.add(Unary::MultiplyScalar(factor as f32), &[sum])?;
            total = Some(match total {
                None => scaled,
                Some(total) => self.add(Binary::Add, &[total, scaled])?,
            });
        }
        Ok(total)
    }

    /// All products of unit vectors, without those of a vector with itself, which are squares.
    fn orthogonal(&mut self, matrix: ValueId, factor: f64, columns: bool) -> Result<ValueId, ShapeError> {
        let shape = self.shape(matrix);
        if shape.rank() != 2 {
            return Err(self.refusal(matrix, "an orthogonal regularizer takes a matrix".to_string()));
        }
        let (along, count) = if columns { (0, shape[1]) } else { (1, shape[0]) };
        let squares = self.add(Unary::Square, &[matrix])?;
        let sum = Reduce { reduction: Reduction::Sum, axes: vec![along], keep_axes: true };
        let length = self.add(sum, &[squares])?;
        let length = self.add(Unary::MaximumScalar(SHORTEST * SHORTEST), &[length])?;
        let inverse = self.add(Unary::Rsqrt, &[length])?;
        let unit = self.add(Binary::Multiply, &[matrix, inverse])?;
        let products = self.add(MatMul { transpose_a: columns, transpose_b: !columns }, &[unit, unit])?;
        let all = self.add(Unary::Abs, &[products])?;
        let all = self.add(Reduce::all(Reduction::Sum, 2), &[all])?;
        let own = self.add(Unary::Square, &[unit])?;
        let own = self.add(Reduce::all(Reduction::Sum, 2), &[own])?;
        let others = self.add(Binary::Subtract, &[all, own])?;
        let pairs = count as f64 * (count as f64 - 1.0) / 2.0;
        self.add(Unary::MultiplyScalar((factor * 0.5 / pairs) as f32), &[others])
    }

    fn add(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<ValueId, ShapeError> {
        self.graph.add_single(kind.into(), inputs, self.site)
    }

    fn shape(&self, value: ValueId) -> Shape {
        self.graph.tensor(value).shape.clone()
    }

    fn refusal(&self, value: ValueId, problem: String) -> ShapeError {
        ShapeError { op: "regularizer".to_string(), inputs: vec![self.graph.tensor(value).clone()], problem }
    }
}
