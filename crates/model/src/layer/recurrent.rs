//! Recurrent layers as one, whole or as cells that go one step at a time.

use super::stepwise::Gone;
use super::{Context, Gru, Layer, Lstm, Signal, SimpleRnn};
use crate::Initializer;
use plimsoll_graph::op::{BiasAdd, MatMul};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A layer that can run in both directions, or step by step.
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

/// What a cell has learned.
pub(super) struct CellWeights {
    kernel: ValueId,
    recurrent: ValueId,
    /// The bias of an LSTM or a plain cell.
    bias: Option<ValueId>,
}

impl Recurrent {
    /// The layer by itself.
    pub fn into_layer(self) -> Layer {
        match self {
            Self::Lstm(layer) => layer.into(),
            Self::Gru(layer) => layer.into(),
            Self::SimpleRnn(layer) => layer.into(),
        }
    }

    /// The length of the state.
    pub fn units(&self) -> usize {
        match self {
            Self::Lstm(layer) => layer.units,
            Self::Gru(layer) => layer.units,
            Self::SimpleRnn(layer) => layer.units,
        }
    }

    /// How many states it has.
    pub fn state_count(&self) -> usize {
        match self {
            Self::Lstm(_) => 2,
            Self::Gru(_) | Self::SimpleRnn(_) => 1,
        }
    }

    /// Whether its last states are results, too.
    pub fn returns_state(&self) -> bool {
        match self {
            Self::Lstm(layer) => layer.return_state,
            Self::Gru(layer) => layer.return_state,
            Self::SimpleRnn(layer) => layer.return_state,
        }
    }

    /// Whether a batch begins with the states that the one before it ended with.
    pub(super) fn is_stateful(&self) -> bool {
        match self {
            Self::Lstm(layer) => layer.stateful,
            Self::Gru(layer) => layer.stateful,
            Self::SimpleRnn(layer) => layer.stateful,
        }
    }

    /// Whether time runs from the last position to the first.
    pub(super) fn goes_backwards(&self) -> bool {
        match self {
            Self::Lstm(layer) => layer.go_backwards,
            Self::Gru(layer) => layer.go_backwards,
            Self::SimpleRnn(layer) => layer.go_backwards,
        }
    }

    /// How Keras calls its cell.
    pub(super) fn cell_name(&self) -> &'static str {
        match self {
            Self::Lstm(_) => "lstm_cell",
            Self::Gru(_) => "gru_cell",
            Self::SimpleRnn(_) => "simple_rnn_cell",
        }
    }

    /// The layer with parameters under a prefix, in a direction.
    pub(super) fn run(
        &self,
        at: &mut Context<'_>,
        inputs: &[Signal],
        prefix: &str,
        reverse: bool,
    ) -> Result<Gone, ShapeError> {
        match self {
            Self::Lstm(layer) => layer.run(at, inputs, &format!("{prefix}_lstm/"), reverse),
            Self::Gru(layer) => layer.run(at, inputs, &format!("{prefix}_gru/"), reverse),
            Self::SimpleRnn(layer) => layer.run(at, inputs, &format!("{prefix}_simple_rnn/"), reverse),
        }
    }

    /// Adds the parameters of a cell.
    pub(super) fn weights(
        &self,
        at: &mut Context<'_>,
        name: &str,
        features: usize,
    ) -> Result<CellWeights, ShapeError> {
        let (units, gates) = match self {
            Self::Lstm(layer) => (layer.units, 4),
            Self::Gru(layer) => (layer.units, 3),
            Self::SimpleRnn(layer) => (layer.units, 1),
        };
        let width = at.product(&[gates, units])?;
        let shape = Shape::new([features, width]);
        let init = Initializer::GLOROT_UNIFORM.for_kernel(&shape);
        let kernel = at.parameter(&format!("{name}/kernel"), shape, init)?;
        let recurrent =
            at.parameter(&format!("{name}/recurrent_kernel"), [units, width], Init::Orthogonal)?;
        let (shape, init) = match self {
            Self::Lstm(layer) if layer.unit_forget_bias => (vec![width], Init::ForgetGateOnes),
            Self::Gru(layer) if layer.reset_after => (vec![2, width], Init::Constant(0.0)),
            _ => (vec![width], Init::Constant(0.0)),
        };
        let bias = match self.uses_bias() {
            true => Some(at.parameter(&format!("{name}/bias"), Shape::new(shape), init)?),
            false => None,
        };
        Ok(CellWeights { kernel, recurrent, bias })
    }

    /// One step of a cell: the new states, the first of which is the result.
    pub(super) fn step(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        states: &[ValueId],
        weights: &CellWeights,
    ) -> Result<Vec<ValueId>, ShapeError> {
        let projected = at.op(MatMul::default(), &[x, weights.kernel])?;
        if let Self::Gru(layer) = self {
            let (projected, bias) = layer.with_bias(at, projected, weights.bias)?;
            let state = [states[0]; 2];
            return Ok(vec![layer.step(at, projected, state, [weights.recurrent, bias])?]);
        }
        let projected = match weights.bias {
            Some(bias) => at.op(BiasAdd {}, &[projected, bias])?,
            None => projected,
        };
        match self {
            Self::Lstm(layer) => {
                Ok(layer.step(at, projected, [states[0], states[1]], weights.recurrent)?.to_vec())
            }
            Self::SimpleRnn(layer) => Ok(vec![layer.step(at, projected, states[0], weights.recurrent)?]),
            Self::Gru(_) => unreachable!("it was looked at before"),
        }
    }

    fn uses_bias(&self) -> bool {
        match self {
            Self::Lstm(layer) => layer.use_bias,
            Self::Gru(layer) => layer.use_bias,
            Self::SimpleRnn(layer) => layer.use_bias,
        }
    }
}
