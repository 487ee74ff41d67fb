//! A recurrent layer in both directions of time.

use super::{Context, Gru, Lowered, Lstm, Signal};
use plimsoll_graph::op::Concat;
use serde::{Deserialize, Serialize};

/// Two recurrent layers of the same settings, one in each direction, their results joined along the last axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bidirectional {
    /// The layer that runs forward; its twin runs backward.
    pub layer: Recurrent,
}

/// A layer that can run in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrent {
    /// An LSTM.
    Lstm(Lstm),
    /// A GRU.
    Gru(Gru),
}

impl Bidirectional {
    /// An LSTM in both directions.
    pub fn lstm(layer: Lstm) -> Self {
        Self { layer: Recurrent::Lstm(layer) }
    }

    /// A GRU in both directions.
    pub fn gru(layer: Gru) -> Self {
        Self { layer: Recurrent::Gru(layer) }
    }

    pub(super) fn kind(&self) -> &'static str {
        "bidirectional"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let mut run = |direction: &str, reverse: bool| match &self.layer {
            Recurrent::Lstm(layer) => layer.run(at, x, &format!("{direction}_lstm/"), reverse),
            Recurrent::Gru(layer) => layer.run(at, x, &format!("{direction}_gru/"), reverse),
        };
        let forward = run("forward", false)?;
        let backward = run("backward", true)?;
        let axis = at.axis(-1, forward.value)?;
        Ok(forward.with(at.op(Concat { axis }, &[forward.value, backward.value])?))
    }
}
