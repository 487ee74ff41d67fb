//! Layers whose channels stand before positions.

use super::{Context, Layer, Lowered, Signal};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A layer on `[batch, channels, ...]`: channels go last before it and back first after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelsFirst {
    /// The layer that has its channels last; its parameters are this layer's.
    pub layer: Box<Layer>,
    /// Whether the result has channels to move back.
    pub back: bool,
}

impl ChannelsFirst {
    pub(super) fn kind(&self) -> &'static str {
        self.layer.kind()
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let mut turned = Vec::with_capacity(inputs.len());
        for input in inputs {
            turned.push(input.with(channels_last(at, input.value)?));
        }
        let result = self.layer.lower(at, &turned)?;
        let rank = at.shape(result.value).rank();
        if !self.back || rank < 3 {
            return Ok(result);
        }
        let order = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
        Ok(result.with(at.transposed(result.value, order)?))
    }
}

fn channels_last(at: &mut Context<'_>, value: ValueId) -> Result<ValueId, ShapeError> {
    match at.shape(value).rank() {
        0..3 => Ok(value),
        rank => at.transposed(value, [0].into_iter().chain(2..rank).chain([1]).collect()),
    }
}
