//! What a layer gives beside its result.

use super::{Context, Lowered, Signal};
use serde::{Deserialize, Serialize};

/// One of the values that the layer it reads gives beside its result, such as the last state of an LSTM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Which of them, from 0 on.
    pub index: usize,
}

impl Beside {
    pub(super) fn kind(&self) -> &'static str {
        "beside"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        at.other(x.value, self.index)
    }
}
