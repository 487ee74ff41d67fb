//! A recurrent layer in both directions of time.

use super::{Context, Gru, Lowered, Lstm, Recurrent, Signal};
use plimsoll_graph::op::{Binary, Concat, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// Two recurrent layers of the same settings, one in each direction, and their results merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bidirectional {
    /// The layer that runs forward; its twin runs backward.
    pub layer: Recurrent,
    /// The layer that runs backward, if it is not the same.
    pub backward: Option<Recurrent>,
    /// What becomes of the two results.
    pub merge_mode: MergeMode,
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
    /// They stay two results.
    Separate,
}

impl Bidirectional {
    /// An LSTM in both directions.
    pub fn lstm(layer: Lstm) -> Self {
        Self { layer: Recurrent::Lstm(layer), backward: None, merge_mode: MergeMode::Concat }
    }

    /// A GRU in both directions.
    pub fn gru(layer: Gru) -> Self {
        Self { layer: Recurrent::Gru(layer), backward: None, merge_mode: MergeMode::Concat }
    }

    pub(super) fn kind(&self) -> &'static str {
        "bidirectional"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let backward = self.backward.as_ref().unwrap_or(&self.layer);
        let Some((&x, states)) = inputs.split_first() else {
            return Err(at.refusal(&[], "it takes a sequence".to_string()));
        };
        if self.layer.goes_backwards() {
            let problem = "the layer inside must not run backwards by itself";
            return Err(at.refusal(&[x.value], problem.to_string()));
        }
        // Half of the states that are given are for each direction.
        let (ahead, back) = states.split_at(states.len() / 2);
        let forward = self.layer.run(at, &[&[x], ahead].concat(), "forward", false)?;
        let backward = backward.run(at, &[&[x], back].concat(), "backward", true)?;
        let mut both = [forward.result, backward.result];
        // Keras makes both layers give 0 at padding if they give sequences.
        if let Some(mask) = both[0].mask {
            let mask = at.mask_for(mask, 3)?;
            for one in &mut both {
                *one = one.with(at.op(Binary::Multiply, &[one.value, mask])?);
            }
        }
        let states = forward.states.into_iter().chain(backward.states).map(Signal::bare);
        let states = states.filter(|_| self.layer.returns_state());
        if self.merge_mode == MergeMode::Separate {
            let others = [both[1]].into_iter().chain(states).collect();
            return Ok(at.beside(both[0], others));
        }
        let merged = both[0].with(self.merge_mode.apply(at, both.map(|signal| signal.value))?);
        let states: Vec<Signal> = states.collect();
        Ok(if states.is_empty() { merged } else { at.beside(merged, states) })
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
            Self::Separate => Ok(both[0]),
            Self::Ave => {
                let sum = at.op(Binary::Add, &both)?;
                at.op(Unary::MultiplyScalar(0.5), &[sum])
            }
        }
    }
}
