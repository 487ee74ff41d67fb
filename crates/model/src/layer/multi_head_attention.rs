//! Multi-head attention (Vaswani et al. 2017).

use super::dropout::drop_elements;
use super::{Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{
    self, Attention, BiasAdd, Binary, MatMul, Reduce, Reduction, Softmax, Transpose, Unary,
};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Attention of a query to keys and values. It reads `(query, value)` or `(query, value, key)`, as in Keras,
/// and the attention mask, if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiHeadAttention {
    /// How many heads look at the same time.
    pub num_heads: usize,
    /// The length of a query and of a key, per head.
    pub key_dim: usize,
    /// The length of a value, per head; that of a key if not given.
    pub value_dim: Option<usize>,
    /// The probability of dropping a score in training.
    pub dropout: f32,
    /// Whether biases are added.
    pub use_bias: bool,
    /// The extent of the result's last axis; the query's if not given.
    pub output_shape: Option<usize>,
    /// Whether a position sees only itself and those before it.
    pub use_causal_mask: bool,
    /// Whether the last input says which queries see which keys.
    #[serde(default)]
    pub attention_mask: bool,
}

impl MultiHeadAttention {
    /// Attention with biases and without dropout.
    pub fn new(num_heads: usize, key_dim: usize) -> Self {
        Self {
            num_heads,
            key_dim,
            value_dim: None,
            dropout: 0.0,
            use_bias: true,
            output_shape: None,
            use_causal_mask: false,
            attention_mask: false,
        }
    }

    /// The same with dropout of scores.
    pub fn dropout(self, dropout: f32) -> Self {
        Self { dropout, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "multi_head_attention"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let (inputs, attention_mask) = match inputs.split_last() {
            Some((mask, inputs)) if self.attention_mask => (inputs, Some(mask.value)),
            _ => (inputs, None),
        };
        let (query, value, key) = match *inputs {
            [query, value] => (query, value, value),
            [query, value, key] => (query, value, key),
            _ => return Err(at.refusal(&[], format!("it takes 2 or 3 inputs, not {}", inputs.len()))),
        };
        let [_, length, width] = at.extents(query.value)?;
        let [_, keys, _] = at.extents(key.value)?;
        let value_dim = self.value_dim.unwrap_or(self.key_dim);
        let q = self.project(at, "query", query.value, self.key_dim)?;
        let k = self.project(at, "key", key.value, self.key_dim)?;
        let v = self.project(at, "value", value.value, value_dim)?;
        let masks: Vec<ValueId> = value.mask.into_iter().chain(key.mask).collect();
        let mask = if masks.is_empty() { None } else { Some(at.smallest(&masks)?) };
        let rows = Rows { query: query.mask, keys: mask, causal: self.use_causal_mask, attention_mask };
        let drops = at.is_training() && self.dropout > 0.0;
        let open = drops || attention_mask.is_some() || (self.use_causal_mask && length != keys);
        // Keras 3.15 has two ways: with dropout, queries that see no key get 0, else they see all keys alike.
        let alike = self.dropout == 0.0;
        let attended = if open {
            self.attend_in_the_open(at, [q, k, v], rows, alike)?
        } else {
            let attention = Attention { scale: self.scale(), causal: self.use_causal_mask };
            let attended = at.op(attention, &[q, k, v].into_iter().chain(mask).collect::<Vec<_>>())?;
            rows.finished(at, attended, v, alike)?
        };
        let result = self.combine(at, attended, value_dim, self.output_shape.unwrap_or(width))?;
        Ok(query.with(result))
    }

    fn scale(&self) -> f32 {
        (1.0 / (self.key_dim as f64).sqrt()) as f32
    }

    /// `[n, t, features] -> [n, t, heads, dim]`, by a kernel `[features, heads, dim]`.
    fn project(
        &self,
        at: &mut Context<'_>,
        name: &str,
        x: ValueId,
        dim: usize,
    ) -> Result<ValueId, ShapeError> {
        let [batch, length, features] = at.extents(x)?;
        let columns = at.product(&[self.num_heads, dim])?;
        let init = Initializer::GLOROT_UNIFORM.with_fans(features as f64, columns as f64);
        let kernel = at.parameter(&format!("{name}/kernel"), [features, self.num_heads, dim], init)?;
        let kernel = at.op(op::Reshape { shape: [features, columns].into() }, &[kernel])?;
        let mut y = at.op(MatMul::default(), &[x, kernel])?;
        if self.use_bias {
            let bias = at.parameter(&format!("{name}/bias"), [self.num_heads, dim], Init::Constant(0.0))?;
            let bias = at.op(op::Reshape { shape: [columns].into() }, &[bias])?;
            y = at.op(BiasAdd {}, &[y, bias])?;
        }
        at.op(op::Reshape { shape: [batch, length, self.num_heads, dim].into() }, &[y])
    }

    /// `[n, t, heads, dim] -> [n, t, width]`, by a kernel `[heads, dim, width]`.
    fn combine(
        &self,
        at: &mut Context<'_>,
        attended: ValueId,
        dim: usize,
        width: usize,
    ) -> Result<ValueId, ShapeError> {
        let [batch, length, ..] = at.extents::<4>(attended)?;
        let rows = at.product(&[self.num_heads, dim])?;
        let init = Initializer::GLOROT_UNIFORM.with_fans(rows as f64, width as f64);
        let kernel = at.parameter("attention_output/kernel", [self.num_heads, dim, width], init)?;
        let kernel = at.op(op::Reshape { shape: [rows, width].into() }, &[kernel])?;
        let joined = at.op(op::Reshape { shape: [batch, length, rows].into() }, &[attended])?;
        let y = at.op(MatMul::default(), &[joined, kernel])?;
        if !self.use_bias {
            return Ok(y);
        }
        let bias = at.parameter("attention_output/bias", [width], Init::Constant(0.0))?;
        at.op(BiasAdd {}, &[y, bias])
    }

    /// The same as the attention op, but with the matrix of scores in the open, where dropout and masks of all kinds
    /// can reach it.
    fn attend_in_the_open(
        &self,
        at: &mut Context<'_>,
        operands: [ValueId; 3],
        rows: Rows,
        alike: bool,
    ) -> Result<ValueId, ShapeError> {
        let heads_first = Transpose { order: vec![0, 2, 1, 3] };
        let mut turned = Vec::new();
        for operand in operands {
            turned.push(at.op(heads_first.clone(), &[operand])?);
        }
        let scores = at.op(MatMul { transpose_a: false, transpose_b: true }, &turned[..2])?;
        let mut scores = at.op(Unary::MultiplyScalar(self.scale()), &[scores])?;
        let mask = rows.of_scores(at, scores)?;
        if let Some(mask) = mask {
            scores = at.masked_scores(scores, mask)?;
        }
        let mut weights = at.op(Softmax {}, &[scores])?;
        if let Some(mask) = mask.filter(|_| !alike) {
            weights = at.op(Binary::Multiply, &[weights, mask])?;
        }
        if at.is_training() && self.dropout > 0.0 {
            weights = drop_elements(at, self.dropout, weights)?;
        }
        let attended = at.op(MatMul::default(), &[weights, turned[2]])?;
        at.op(heads_first, &[attended])
    }
}

/// Which queries see which keys.
#[derive(Clone, Copy)]
struct Rows {
    /// `[batch, queries]`
    query: Option<ValueId>,
    /// `[batch, keys]`
    keys: Option<ValueId>,
    /// Whether a query sees only keys up to its own position.
    causal: bool,
    /// `[batch, queries, keys]` or `[batch, heads, queries, keys]`, or stretched to that.
    attention_mask: Option<ValueId>,
}

impl Rows {
    /// What the attention op gives, with what Keras gives for queries that see no key: 0, or the mean of all values.
    fn finished(
        self,
        at: &mut Context<'_>,
        attended: ValueId,
        v: ValueId,
        alike: bool,
    ) -> Result<ValueId, ShapeError> {
        let Some(seeing) = self.seeing(at, attended, v)? else { return Ok(attended) };
        let seeing = at.mask_for(seeing, 4)?;
        let kept = at.op(Binary::Multiply, &[attended, seeing])?;
        if !alike {
            return Ok(kept);
        }
        let mean = Reduce { reduction: Reduction::Mean, axes: vec![1], keep_axes: true };
        let mean = at.op(mean, &[v])?;
        let others = at.opposite(seeing)?;
        let others = at.op(Binary::Multiply, &[mean, others])?;
        at.op(Binary::Add, &[kept, others])
    }

    /// Which queries see a key: `[batch, queries]`; nothing if all do.
    fn seeing(
        self,
        at: &mut Context<'_>,
        attended: ValueId,
        v: ValueId,
    ) -> Result<Option<ValueId>, ShapeError> {
        let (queries, keys) = (at.shape(attended)[1], at.shape(v)[1]);
        let any = match self.keys {
            None => None,
            Some(mask) if self.causal => {
                let earlier = not_later(at, queries, keys)?;
                let count = at.op(MatMul { transpose_a: false, transpose_b: true }, &[mask, earlier])?;
                let half = at.scalar(0.5)?;
                Some(at.op(Binary::GreaterEqual, &[count, half])?)
            }
            Some(mask) => {
                let any = Reduce { reduction: Reduction::Max, axes: vec![1], keep_axes: true };
                Some(at.op(any, &[mask])?)
            }
        };
        Ok(match (self.query, any) {
            (Some(query), Some(any)) => Some(at.op(Binary::Multiply, &[query, any])?),
            (query, any) => query.or(any),
        })
    }

    /// 1 for each score that counts, stretched to `[batch, heads, queries, keys]`; nothing if all do.
    fn of_scores(self, at: &mut Context<'_>, scores: ValueId) -> Result<Option<ValueId>, ShapeError> {
        let [_, _, queries, keys] = at.extents(scores)?;
        let mut masks = Vec::new();
        if let Some(mask) = self.query {
            let [batch, length] = at.extents(mask)?;
            masks.push(at.reshaped(mask, [batch, 1, length, 1])?);
        }
        if let Some(mask) = self.keys {
            let [batch, length] = at.extents(mask)?;
            masks.push(at.reshaped(mask, [batch, 1, 1, length])?);
        }
        if self.causal {
            masks.push(not_later(at, queries, keys)?);
        }
        if let Some(mask) = self.attention_mask {
            let mut extents = at.shape(mask).extents().to_vec();
            if extents.len() < 4 {
                let missing = 4 - extents.len();
                let place = extents.len().saturating_sub(2);
                extents.splice(place..place, vec![1; missing]);
            }
            masks.push(at.reshaped(mask, Shape::new(extents))?);
        }
        let Some((&first, rest)) = masks.split_first() else { return Ok(None) };
        let mut all = first;
        for &mask in rest {
            all = at.op(Binary::Multiply, &[all, mask])?;
        }
        let shape = at.shape(scores).clone();
        if at.shape(all).broadcast(&shape).as_ref() != Some(&shape) {
            let problem = format!("the attention mask is stretched to {}, not to {shape}", at.shape(all));
            return Err(at.refusal(&[scores], problem));
        }
        Ok(Some(all))
    }
}

/// `[queries, keys]`: 1 where the key does not come after the query.
fn not_later(at: &mut Context<'_>, queries: usize, keys: usize) -> Result<ValueId, ShapeError> {
    let counted = |count: usize| (0..count).map(|position| position as f32).collect::<Vec<_>>();
    let query = at.constant(&counted(queries))?;
    let query = at.reshaped(query, [queries, 1])?;
    let key = at.constant(&counted(keys))?;
    at.op(Binary::GreaterEqual, &[query, key])
}
