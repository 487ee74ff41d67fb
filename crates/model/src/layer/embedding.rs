//! Vectors in the place of token ids.

use super::{Context, Lowered, Signal};
use plimsoll_graph::Init;
use plimsoll_graph::op::{self, NotEqual};
use serde::{Deserialize, Serialize};

/// A row of a table for each id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedding {
    /// How many ids there are.
    pub input_dim: usize,
    /// The length of a row.
    pub output_dim: usize,
    /// Whether id 0 stands for padding, which later layers leave out.
    pub mask_zero: bool,
}

impl Embedding {
    /// A table of so many rows of so many numbers, in which id 0 is like any other.
    pub fn new(input_dim: usize, output_dim: usize) -> Self {
        Self { input_dim, output_dim, mask_zero: false }
    }

    pub(super) fn kind(&self) -> &'static str {
        "embedding"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [ids] = at.operands(inputs)?;
        // Keras's `uniform` initializer.
        let init = Init::Uniform(0.05);
        let table = at.parameter("embeddings", [self.input_dim, self.output_dim], init)?;
        let value = at.op(op::Embedding {}, &[table, ids.value])?;
        let mask = self.mask_zero.then(|| at.op(NotEqual { value: 0 }, &[ids.value])).transpose()?;
        Ok(Signal { value, mask })
    }
}
