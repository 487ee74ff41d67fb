//! Integers by their number in a vocabulary.

use super::category_encoding::integers;
use super::{Context, Encoding, Lowered, Signal};
use plimsoll_graph::op::{Bucket, Otherwise};
use serde::{Deserialize, Serialize};

/// The number of each integer in a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegerLookup {
    /// Integers, ascending, each with its number.
    pub entries: Vec<[i32; 2]>,
    /// The number of everything else.
    pub otherwise: Otherwise,
    /// What is made of the numbers.
    pub output_mode: Encoding,
    /// How many numbers there are, for modes that make vectors of them.
    pub depth: usize,
}

impl IntegerLookup {
    pub(super) fn kind(&self) -> &'static str {
        "integer_lookup"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let ids = integers(at, x.value)?;
        let table = Bucket::Table { entries: self.entries.clone(), otherwise: self.otherwise.clone() };
        let numbers = at.op(table, &[ids])?;
        self.output_mode.apply(at, numbers, self.depth)
    }
}
