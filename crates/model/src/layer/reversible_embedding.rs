//! A table of vectors that is also the way back, from vectors to scores of ids (Press and Wolf 2016).

use super::{Context, Embedding, Lowered, Signal};
use plimsoll_graph::op::{MatMul, Unary};
use plimsoll_graph::{Init, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Keras's `ReversibleEmbedding`: a row of a table for each id, or in reverse a score of each id for a vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReversibleEmbedding {
    /// The table.
    pub embedding: Embedding,
    /// Whether the way back uses the same table rather than one of its own.
    pub tie_weights: bool,
    /// Scores `x` are `cap tanh(x / cap)`, if there is a cap.
    pub logit_soft_cap: Option<f32>,
    /// Whether this call goes the way back.
    pub reverse: bool,
}

impl ReversibleEmbedding {
    pub(super) fn kind(&self) -> &'static str {
        "reversible_embedding"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let table = self.embedding.table(at)?;
        let Embedding { input_dim, output_dim, .. } = self.embedding;
        let own = match self.tie_weights {
            true => None,
            false => {
                Some(at.parameter("reverse_embeddings", [output_dim, input_dim], Init::Uniform(0.05))?)
            }
        };
        if !self.reverse {
            return self.embedding.lower(at, inputs);
        }
        let [x] = at.operands(inputs)?;
        let back = MatMul { transpose_a: false, transpose_b: own.is_none() };
        let scores = at.op(back, &[x.value, own.unwrap_or(table)])?;
        Ok(Signal::bare(self.capped(at, scores)?))
    }

    fn capped(&self, at: &mut Context<'_>, scores: ValueId) -> Result<ValueId, ShapeError> {
        let Some(cap) = self.logit_soft_cap else { return Ok(scores) };
        let small = at.op(Unary::MultiplyScalar(1.0 / cap), &[scores])?;
        let bent = at.op(Unary::Tanh, &[small])?;
        at.op(Unary::MultiplyScalar(cap), &[bent])
    }
}
