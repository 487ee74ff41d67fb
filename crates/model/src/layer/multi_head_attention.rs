//! Multi-head attention (Vaswani et al. 2017).

use super::dropout::drop_elements;
use super::{Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{self, Attention, BiasAdd, Binary, MatMul, Softmax, Transpose, Unary};
use plimsoll_graph::{Init, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Attention of a query to keys and values. It reads `(query, value)` or `(query, value, key)`, as in Keras.
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
        let (query, value, key) = match *inputs {
            [query, value] => (query, value, value),
            [query, value, key] => (query, value, key),
            _ => return Err(at.refusal(&[], format!("it takes 2 or 3 inputs, not {}", inputs.len()))),
        };
        let [_, _, width] = at.extents(query.value)?;
        let value_dim = self.value_dim.unwrap_or(self.key_dim);
        let q = self.project(at, "query", query.value, self.key_dim)?;
        let k = self.project(at, "key", key.value, self.key_dim)?;
        let v = self.project(at, "value", value.value, value_dim)?;
        let mask = value.mask.or(key.mask);
        let attended = if at.is_training() && self.dropout > 0.0 {
            self.attend_with_dropout(at, [q, k, v], mask)?
        } else {
            let attention = Attention { scale: self.scale(), causal: self.use_causal_mask };
            at.op(attention, &[q, k, v].into_iter().chain(mask).collect::<Vec<_>>())?
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

    /// The same as the attention op, but with the matrix of scores in the open, where dropout can reach it.
    fn attend_with_dropout(
        &self,
        at: &mut Context<'_>,
        operands: [ValueId; 3],
        mask: Option<ValueId>,
    ) -> Result<ValueId, ShapeError> {
        let heads_first = Transpose { order: vec![0, 2, 1, 3] };
        let mut turned = Vec::new();
        for operand in operands {
            turned.push(at.op(heads_first.clone(), &[operand])?);
        }
        let scores = at.op(MatMul { transpose_a: false, transpose_b: true }, &turned[..2])?;
        let mut scores = at.op(Unary::MultiplyScalar(self.scale()), &[scores])?;
        if let Some(mask) = mask {
            let [batch, length] = at.extents(mask)?;
            let mask = at.op(op::Reshape { shape: [batch, 1, 1, length].into() }, &[mask])?;
            let mask = at.op(Unary::AddScalar(-1.0), &[mask])?;
            // What is added to the scores of keys that do not count: enough to leave nothing of them.
            let penalty = at.op(Unary::MultiplyScalar(1e9), &[mask])?;
            scores = at.op(Binary::Add, &[scores, penalty])?;
        }
        if self.use_causal_mask {
            let [.., length, keys] = at.extents::<4>(scores)?;
            let penalty = later_keys(at, length, keys)?;
            scores = at.op(Binary::Add, &[scores, penalty])?;
        }
        let weights = at.op(Softmax {}, &[scores])?;
        let weights = drop_elements(at, self.dropout, weights)?;
        let attended = at.op(MatMul::default(), &[weights, turned[2]])?;
        at.op(heads_first, &[attended])
    }
}

/// `[queries, keys]`: what is added to the scores of keys that come after the query.
fn later_keys(at: &mut Context<'_>, queries: usize, keys: usize) -> Result<ValueId, ShapeError> {
    let counted = |count: usize| (0..count).map(|position| position as f32).collect::<Vec<_>>();
    let query = at.constant(&counted(queries))?;
    let query = at.reshaped(query, [queries, 1])?;
    let key = at.constant(&counted(keys))?;
    let later = at.op(Binary::Less, &[query, key])?;
    at.op(Unary::MultiplyScalar(-1e9), &[later])
}
