//! Vectors in the place of token ids.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{self, NotEqual};
use plimsoll_graph::{ElementType, Init, ShapeError, ValueId};
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
        let [mut ids] = at.operands(inputs)?;
        // What ops have computed is float32; Keras truncates as well.
        if at.element(ids.value) == ElementType::F32 {
            ids.value = at.op(op::Cast { to: ElementType::I32 }, &[ids.value])?;
        }
        let table = self.table(at)?;
        let value = at.op(op::Embedding {}, &[table, ids.value])?;
        let mask = self.mask_zero.then(|| at.op(NotEqual { value: 0 }, &[ids.value])).transpose()?;
        Ok(Signal { value, mask })
    }

    /// The table, with Keras's `uniform` initializer.
    pub(super) fn table(&self, at: &mut Context<'_>) -> Result<ValueId, ShapeError> {
        at.parameter("embeddings", [self.input_dim, self.output_dim], Init::Uniform(0.05))
    }
}
