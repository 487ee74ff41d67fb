//! Multi-head attention (Vaswani et al. 2017).

use super::dropout::drop_elements;
use super::visible::Visible;
use super::{Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{self, Attention, BiasAdd, Binary, Broadcast, MatMul, Softmax, Transpose, Unary};
use plimsoll_graph::{Init, ShapeError, ValueId};
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
    /// How many positions from itself a query does not see any more, on either side.
    #[serde(default)]
    pub sliding_window: Option<usize>,
    /// Whether what is attended is multiplied with a sigmoid of the query before heads are combined.
    #[serde(default)]
    pub use_gate: bool,
    /// Whether the scores, after softmax, are a result, too.
    #[serde(default)]
    pub return_attention_scores: bool,
    /// So many heads of keys and values, each for several of queries: Keras's `GroupQueryAttention` (Ainslie et al.
    /// 2023). As many as heads of queries if not given.
    #[serde(default)]
    pub key_value_heads: Option<usize>,
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
            sliding_window: None,
            use_gate: false,
            return_attention_scores: false,
            key_value_heads: None,
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
        let key_heads = self.key_value_heads.unwrap_or(self.num_heads);
        let q = self.project(at, "query", query.value, [self.num_heads, self.key_dim])?;
        let k = self.project(at, "key", key.value, [key_heads, self.key_dim])?;
        let gate = match self.use_gate {
            true => Some(self.project(at, "gate", query.value, [self.num_heads, value_dim])?),
            false => None,
        };
        let v = self.project(at, "value", value.value, [key_heads, value_dim])?;
        let (k, v) = (self.for_all_heads(at, k)?, self.for_all_heads(at, v)?);
        let masks: Vec<ValueId> = value.mask.into_iter().chain(key.mask).collect();
        let mask = if masks.is_empty() { None } else { Some(at.smallest(&masks)?) };
        let (causal, window) = (self.use_causal_mask, self.sliding_window);
        let visible = Visible { query: query.mask, keys: mask, causal, window, attention_mask };
        let drops = at.is_training() && self.dropout > 0.0;
        let open = drops || attention_mask.is_some() || window.is_some() || (causal && length != keys);
        // Keras 3.15 has two ways: with scores in the open, queries that see no key get 0, else they see all alike.
        let alike = self.dropout == 0.0 && !self.return_attention_scores;
        let (mut attended, weights) = if open || self.return_attention_scores {
            let (attended, weights) = self.attend_in_the_open(at, [q, k, v], visible, alike)?;
            (attended, Some(weights))
        } else {
            let attention = Attention { scale: self.scale(), causal };
            let attended = at.op(attention, &[q, k, v].into_iter().chain(mask).collect::<Vec<_>>())?;
            (visible.finished(at, attended, v, alike)?, None)
        };
        if let Some(gate) = gate {
            let gate = at.op(Unary::Sigmoid, &[gate])?;
            attended = at.op(Binary::Multiply, &[attended, gate])?;
        }
        let result = self.combine(at, attended, value_dim, self.output_shape.unwrap_or(width))?;
        let result = query.with(result);
        Ok(match weights.filter(|_| self.return_attention_scores) {
            Some(weights) => at.beside(result, vec![Signal::bare(weights)]),
            None => result,
        })
    }

    /// Keys or values with a copy for each head of queries that looks at them.
    fn for_all_heads(&self, at: &mut Context<'_>, x: ValueId) -> Result<ValueId, ShapeError> {
        let [batch, length, heads, dim] = at.extents(x)?;
        if heads == self.num_heads {
            return Ok(x);
        }
        if heads == 0 || !self.num_heads.is_multiple_of(heads) {
            let problem = format!("{} heads of queries cannot share {heads} of keys", self.num_heads);
            return Err(at.refusal(&[x], problem));
        }
        let copies = at.reshaped(x, [batch, length, heads, 1, dim])?;
        let shape = [batch, length, heads, self.num_heads / heads, dim].into();
        let copies = at.op(Broadcast { shape }, &[copies])?;
        at.reshaped(copies, [batch, length, self.num_heads, dim])
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
        [heads, dim]: [usize; 2],
    ) -> Result<ValueId, ShapeError> {
        let [batch, length, features] = at.extents(x)?;
        let columns = at.product(&[heads, dim])?;
        let init = Initializer::GLOROT_UNIFORM.with_fans(features as f64, columns as f64);
        let kernel = at.parameter(&format!("{name}/kernel"), [features, heads, dim], init)?;
        let kernel = at.op(op::Reshape { shape: [features, columns].into() }, &[kernel])?;
        let mut y = at.op(MatMul::default(), &[x, kernel])?;
        if self.use_bias {
            let bias = at.parameter(&format!("{name}/bias"), [heads, dim], Init::Constant(0.0))?;
            let bias = at.op(op::Reshape { shape: [columns].into() }, &[bias])?;
            y = at.op(BiasAdd {}, &[y, bias])?;
        }
        at.op(op::Reshape { shape: [batch, length, heads, dim].into() }, &[y])
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
    /// can reach it; with the scores after softmax.
    fn attend_in_the_open(
        &self,
        at: &mut Context<'_>,
        operands: [ValueId; 3],
        visible: Visible,
        alike: bool,
    ) -> Result<(ValueId, ValueId), ShapeError> {
        let heads_first = Transpose { order: vec![0, 2, 1, 3] };
        let mut turned = Vec::new();
        for operand in operands {
            turned.push(at.op(heads_first.clone(), &[operand])?);
        }
        let scores = at.op(MatMul { transpose_a: false, transpose_b: true }, &turned[..2])?;
        let mut scores = at.op(Unary::MultiplyScalar(self.scale()), &[scores])?;
        let mask = visible.of_scores(at, scores)?;
        if let Some(mask) = mask {
            scores = at.masked_scores(scores, mask)?;
        }
        let mut weights = at.op(Softmax {}, &[scores])?;
        if let Some(mask) = mask.filter(|_| !alike) {
            weights = at.op(Binary::Multiply, &[weights, mask])?;
        }
        let mut dropped = weights;
        if at.is_training() && self.dropout > 0.0 {
            dropped = drop_elements(at, self.dropout, weights)?;
        }
        let attended = at.op(MatMul::default(), &[dropped, turned[2]])?;
        Ok((at.op(heads_first, &[attended])?, weights))
    }
}
