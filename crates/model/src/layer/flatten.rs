//! Samples as vectors.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op;
use serde::{Deserialize, Serialize};

/// All elements of a sample in one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flatten {}

impl Flatten {
    pub(super) fn kind(&self) -> &'static str {
        "flatten"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let shape = at.shape(x.value);
        let batch = shape[0];
        let flat = [batch, shape.elements() / batch];
        Ok(Signal::bare(at.op(op::Reshape { shape: flat.into() }, &[x.value])?))
    }
}
