//! The plain recurrent layer (Elman 1990).

use super::lstm::{dropped_input, project, recurrent_mask, sequence_and_states};
use super::stepwise::{Gone, Way, go};
use super::{Activation, Context, Lowered, Signal};
use plimsoll_graph::op::{BiasAdd, Binary, MatMul};
use plimsoll_graph::{Init, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// `h = activation(x kernel + bias + h' recurrent_kernel)`, step by step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimpleRnn {
    /// The length of the state.
    pub units: usize,
    /// Makes the new state.
    pub activation: Activation,
    /// Whether a bias is added.
    pub use_bias: bool,
    /// The probability of dropping an input in training.
    pub dropout: f32,
    /// The probability of dropping an element of the state in training.
    pub recurrent_dropout: f32,
    /// Whether the result is the state at every position rather than the last one.
    pub return_sequences: bool,
    /// Whether the last states are results, too.
    pub return_state: bool,
    /// Whether time runs from the last position to the first.
    pub go_backwards: bool,
    /// Whether a batch begins with the states that the one before it ended with.
    #[serde(default)]
    pub stateful: bool,
    /// Whether the result is 0 at padding, rather than what it was before.
    #[serde(default)]
    pub zero_output_for_mask: bool,
}

impl SimpleRnn {
    /// A layer with Keras's defaults that gives its last state.
    pub fn new(units: usize) -> Self {
        Self {
            units,
            activation: Activation::Tanh,
            use_bias: true,
            dropout: 0.0,
            recurrent_dropout: 0.0,
            return_sequences: false,
            return_state: false,
            go_backwards: false,
            stateful: false,
            zero_output_for_mask: false,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        "simple_rnn"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let gone = self.run(at, inputs, "", self.go_backwards)?;
        gone.finished(at, self.way(self.go_backwards), self.return_state)
    }

    fn way(&self, reverse: bool) -> Way {
        let (sequences, zero_output_for_mask) = (self.return_sequences, self.zero_output_for_mask);
        Way { reverse, sequences, zero_output_for_mask }
    }

    /// The layer with parameters under a prefix, in a direction; results stand at the positions they belong to.
    pub(super) fn run(
        &self,
        at: &mut Context<'_>,
        inputs: &[Signal],
        prefix: &str,
        reverse: bool,
    ) -> Result<Gone, ShapeError> {
        let (x, begun) = sequence_and_states(at, inputs, 1, self.units, self.stateful.then_some(prefix))?;
        let [batch, _, features] = at.extents(x.value)?;
        let seen = dropped_input(at, x.value, self.dropout)?;
        let cell = format!("{prefix}simple_rnn_cell");
        let mut projected = project(at, seen, &cell, features, self.units)?;
        let name = format!("{cell}/recurrent_kernel");
        let recurrent = at.parameter(&name, [self.units, self.units], Init::Orthogonal)?;
        if self.use_bias {
            let bias = at.parameter(&format!("{cell}/bias"), [self.units], Init::Constant(0.0))?;
            projected = at.op(BiasAdd {}, &[projected, bias])?;
        }
        let mask = recurrent_mask(at, self.recurrent_dropout, batch, self.units)?;
        go(at, x.with(projected), &begun, 0, self.way(reverse), |at, x, states| {
            let h = mask.apply(at, states[0])?;
            Ok(vec![self.step(at, x, h, recurrent)?])
        })
    }

    /// The new state.
    pub(super) fn step(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        h: ValueId,
        recurrent: ValueId,
    ) -> Result<ValueId, ShapeError> {
        let carried = at.op(MatMul::default(), &[h, recurrent])?;
        let sum = at.op(Binary::Add, &[x, carried])?;
        self.activation.apply(at, sum)
    }
}
