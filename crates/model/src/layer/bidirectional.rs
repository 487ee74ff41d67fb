//! A recurrent layer in both directions of time.

use super::{Context, Gru, Lowered, Lstm, Signal, SimpleRnn};
use plimsoll_graph::op::{Binary, Concat, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Two recurrent layers of the same settings, one in each direction, and their results merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bidirectional {
    /// The layer that runs forward; its twin runs backward.
    pub layer: Recurrent,
    /// What becomes of the two results.
    pub merge_mode: MergeMode,
}

/// A layer that can run in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrent {
    /// An LSTM.
    Lstm(Lstm),
    /// A GRU.
    Gru(Gru),
    /// A plain recurrent layer.
    SimpleRnn(SimpleRnn),
}

/// How the results of both directions become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMode {
    /// Joined along the last axis.
    #[default]
    Concat,
    /// Added.
    Sum,
    /// Multiplied.
    Mul,
    /// Averaged.
    Ave,
}

impl Bidirectional {
    /// An LSTM in both directions.
    pub fn lstm(layer: Lstm) -> Self {
        Self { layer: Recurrent::Lstm(layer), merge_mode: MergeMode::Concat }
    }

    /// A GRU in both directions.
    pub fn gru(layer: Gru) -> Self {
        Self { layer: Recurrent::Gru(layer), merge_mode: MergeMode::Concat }
    }

    pub(super) fn kind(&self) -> &'static str {
        "bidirectional"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let backwards = match &self.layer {
            Recurrent::Lstm(layer) => layer.go_backwards,
            Recurrent::Gru(layer) => layer.go_backwards,
            Recurrent::SimpleRnn(layer) => layer.go_backwards,
        };
        if backwards {
            return Err(
                at.refusal(&[x.value], "the layer inside must not run backwards by itself".to_string())
            );
        }
        let mut run = |direction: &str, reverse: bool| match &self.layer {
            Recurrent::Lstm(layer) => layer.run(at, x, &format!("{direction}_lstm/"), reverse),
            Recurrent::Gru(layer) => layer.run(at, x, &format!("{direction}_gru/"), reverse),
            Recurrent::SimpleRnn(layer) => layer.run(at, x, &format!("{direction}_simple_rnn/"), reverse),
        };
        let forward = run("forward", false)?;
        let backward = run("backward", true)?;
        let mut merged = self.merge_mode.apply(at, [forward.value, backward.value])?;
        // Keras makes both layers give 0 at padding if they give sequences.
        if let Some(mask) = forward.mask {
            let mask = at.mask_for(mask, 3)?;
            merged = at.op(Binary::Multiply, &[merged, mask])?;
        }
        Ok(forward.with(merged))
    }
}

impl MergeMode {
    fn apply(self, at: &mut Context<'_>, both: [ValueId; 2]) -> Result<ValueId, ShapeError> {
        match self {
            Self::Concat => {
                let axis = at.axis(-1, both[0])?;
                at.op(Concat { axis }, &both)
            }
            Self::Sum => at.op(Binary::Add, &both),
            Self::Mul => at.op(Binary::Multiply, &both),
            Self::Ave => {
                let sum = at.op(Binary::Add, &both)?;
                at.op(Unary::MultiplyScalar(0.5), &[sum])
            }
        }
    }
}
