//! Attention with one head and nothing projected (Luong et al. 2015; Bahdanau et al. 2014).

use super::dropout::drop_elements;
use super::visible::not_later;
use super::{Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{self, Binary, MatMul, Reduce, Reduction, Softmax, Unary};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Keras's `Attention` and `AdditiveAttention`. It reads `(query, value)` or `(query, value, key)`; padding of the
/// value is not looked at, and the result is 0 where the query is padding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    /// How a query is compared with a key.
    pub score: Score,
    /// Whether scores have a scale that is learned.
    pub use_scale: bool,
    /// The probability of dropping a score in training.
    pub dropout: f32,
    /// Whether a position sees only itself and those before it.
    pub use_causal_mask: bool,
    /// Whether the scores, after softmax and dropout, are a result, too.
    pub return_attention_scores: bool,
}

/// How a query `q` is compared with a key `k`, with the scale `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// `s q k`, with one number as scale.
    Dot,
    /// `w sum(tanh(s (q + k)))`, with one number as scale and another that is always learned.
    Concat,
    /// `sum(s tanh(q + k))`, with a scale for each feature: `AdditiveAttention`.
    Additive,
}

impl Attention {
    pub(super) fn kind(&self) -> &'static str {
        match self.score {
            Score::Dot | Score::Concat => "attention",
            Score::Additive => "additive_attention",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let (query, value, key) = match *inputs {
            [query, value] => (query, value, value.value),
            [query, value, key] => (query, value, key.value),
            _ => return Err(at.refusal(&[], format!("it takes 2 or 3 inputs, not {}", inputs.len()))),
        };
        let [q, v] = [query.value, value.value];
        let [[_, queries, _], [_, keys, _]] = [at.extents(q)?, at.extents(v)?];
        at.check_rate(self.dropout, q)?;
        let drops = at.is_training() && self.dropout > 0.0;
        let square = queries == keys || !self.use_causal_mask;
        // The op stores no scores, but queries that see no key get other numbers from Keras.
        let closed = self.score == Score::Dot && value.mask.is_none() && square && !drops;
        let (mut attended, weights) = if closed && !self.return_attention_scores {
            (self.attend(at, q, key, v)?, None)
        } else {
            let scores = self.scores(at, q, key)?;
            let scores = self.masked(at, scores, value.mask)?;
            let mut weights = at.op(Softmax {}, &[scores])?;
            if drops {
                weights = drop_elements(at, self.dropout, weights)?;
            }
            (at.op(MatMul::default(), &[weights, v])?, Some(weights))
        };
        if let Some(mask) = query.mask {
            let mask = at.mask_for(mask, 3)?;
            attended = at.op(Binary::Multiply, &[attended, mask])?;
        }
        let result = query.with(attended);
        Ok(match weights.filter(|_| self.return_attention_scores) {
            Some(weights) => at.beside(result, vec![Signal::bare(weights)]),
            None => result,
        })
    }

    /// Dot products by the op that stores no scores, as one head.
    fn attend(
        &self,
        at: &mut Context<'_>,
        q: ValueId,
        k: ValueId,
        v: ValueId,
    ) -> Result<ValueId, ShapeError> {
        let q = match self.scale(at, Shape::scalar())? {
            Some(scale) => at.op(Binary::Multiply, &[q, scale])?,
            None => q,
        };
        let mut heads = Vec::new();
        for operand in [q, k, v] {
            let [batch, length, width] = at.extents(operand)?;
            heads.push(at.reshaped(operand, [batch, length, 1, width])?);
        }
        let attended = at.op(op::Attention { scale: 1.0, causal: self.use_causal_mask }, &heads)?;
        let [batch, length, _, width] = at.extents(attended)?;
        at.reshaped(attended, [batch, length, width])
    }

    /// `[batch, queries, keys]`
    fn scores(&self, at: &mut Context<'_>, q: ValueId, k: ValueId) -> Result<ValueId, ShapeError> {
        if self.score == Score::Dot {
            let scores = at.op(MatMul { transpose_a: false, transpose_b: true }, &[q, k])?;
            let scale = self.scale(at, Shape::scalar())?;
            return scaled(at, scores, scale);
        }
        let [batch, queries, width] = at.extents(q)?;
        let [_, keys, others] = at.extents(k)?;
        let q = at.reshaped(q, [batch, queries, 1, width])?;
        let k = at.reshaped(k, [batch, 1, keys, others])?;
        let pairs = at.op(Binary::Add, &[q, k])?;
        let sum = Reduce { reduction: Reduction::Sum, axes: vec![3], keep_axes: false };
        if self.score == Score::Additive {
            let scale = self.scale(at, [width].into())?;
            let pairs = at.op(Unary::Tanh, &[pairs])?;
            let pairs = scaled(at, pairs, scale)?;
            return at.op(sum, &[pairs]);
        }
        let scale = self.scale(at, Shape::scalar())?;
        let weight = at.parameter("concat_score_weight", Shape::scalar(), Init::Constant(1.0))?;
        let pairs = scaled(at, pairs, scale)?;
        let pairs = at.op(Unary::Tanh, &[pairs])?;
        let scores = at.op(sum, &[pairs])?;
        at.op(Binary::Multiply, &[scores, weight])
    }

    /// The scale that is learned, if there is one.
    fn scale(&self, at: &mut Context<'_>, shape: Shape) -> Result<Option<ValueId>, ShapeError> {
        if !self.use_scale {
            return Ok(None);
        }
        let init = match shape.rank() {
            0 => Init::Constant(1.0),
            _ => Initializer::GLOROT_UNIFORM.with_fans(shape[0] as f64, shape[0] as f64),
        };
        at.parameter("scale", shape, init).map(Some)
    }

    /// Scores, less 1e9 where they do not count. Where none counts, the gradient goes through all, as in Keras.
    fn masked(
        &self,
        at: &mut Context<'_>,
        scores: ValueId,
        keys: Option<ValueId>,
    ) -> Result<ValueId, ShapeError> {
        let [batch, queries, count] = at.extents(scores)?;
        let mut mask = keys.map(|keys| at.reshaped(keys, [batch, 1, count])).transpose()?;
        if self.use_causal_mask {
            let earlier = not_later(at, queries, count)?;
            mask = Some(match mask {
                Some(mask) => at.op(Binary::Multiply, &[mask, earlier])?,
                None => earlier,
            });
        }
        let Some(mask) = mask else { return Ok(scores) };
        let without = at.op(Unary::AddScalar(-1.0), &[mask])?;
        let penalty = at.op(Unary::MultiplyScalar(1e9), &[without])?;
        at.op(Binary::Add, &[scores, penalty])
    }
}

fn scaled(at: &mut Context<'_>, x: ValueId, scale: Option<ValueId>) -> Result<ValueId, ShapeError> {
    scale.map_or(Ok(x), |scale| at.op(Binary::Multiply, &[x, scale]))
}
