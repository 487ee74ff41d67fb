//! Joining results along an axis.

use super::{Context, Lowered, Signal};
use plimsoll_graph::ValueId;
use plimsoll_graph::op::Concat;
use serde::{Deserialize, Serialize};

/// All results one after another along an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concatenate {
    /// Counted from the end if negative; the batch is axis 0.
    pub axis: isize,
}

impl Default for Concatenate {
    fn default() -> Self {
        Self { axis: -1 }
    }
}

impl Concatenate {
    pub(super) fn kind(&self) -> &'static str {
        "concatenate"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let values: Vec<ValueId> = inputs.iter().map(|input| input.value).collect();
        let Some(&first) = values.first() else {
            return Err(at.refusal(&[], "there is nothing to join".to_string()));
        };
        let axis = at.axis(self.axis, first)?;
        let joined = at.op(Concat { axis }, &values)?;
        Ok(Signal::bare(joined))
    }
}
