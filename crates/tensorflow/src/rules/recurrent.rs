//! Recurrent layers: Keras 3 runs them as a `while` loop over the positions.

use crate::lowering::{Backward, Lowering};
use plimsoll_graph::Op;

/// placeholder
pub fn lstm(at: &mut Lowering<'_>, op: &Op) -> Backward {
    super::layout::moved(at, op, "While", "While")
}

/// placeholder
pub fn gru(at: &mut Lowering<'_>, op: &Op) -> Backward {
    super::layout::moved(at, op, "While", "While")
}
