//! Gated recurrent unit (Cho et al. 2014).

use super::lstm::{columns, dropped_input, finish, is_plain, project, recurrent_mask, sequence_and_states};
use super::stepwise::{Gone, Way, go};
use super::{Activation, Context, Lowered, Signal};
use plimsoll_graph::op::{self, BiasAdd, Binary, Fill, MatMul, Slice, Unary};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A GRU. With Keras's defaults it is one op, else a few ops a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gru {
    /// The length of the state.
    pub units: usize,
    /// Makes candidates.
    pub activation: Activation,
    /// Makes gates.
    pub recurrent_activation: Activation,
    /// Whether biases are added.
    pub use_bias: bool,
    /// Whether the reset gate is applied after the product with the state, which then has a bias of its own.
    pub reset_after: bool,
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

impl Gru {
    /// A GRU that gives its last state.
    pub fn new(units: usize) -> Self {
        Self {
            units,
            activation: Activation::Tanh,
            recurrent_activation: Activation::Sigmoid,
            use_bias: true,
            reset_after: true,
            dropout: 0.0,
            recurrent_dropout: 0.0,
            return_sequences: false,
            return_state: false,
            go_backwards: false,
            stateful: false,
            zero_output_for_mask: false,
        }
    }

    /// The same, giving the state at every position.
    pub fn return_sequences(self) -> Self {
        Self { return_sequences: true, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "gru"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let gone = self.run(at, inputs, "", self.go_backwards)?;
        gone.finished(at, self.way(self.go_backwards), self.return_state)
    }

    fn way(&self, reverse: bool) -> Way {
        let (sequences, zero_output_for_mask) = (self.return_sequences, self.zero_output_for_mask);
        Way { reverse, sequences, zero_output_for_mask }
    }

    /// The GRU with parameters under a prefix, in a direction; results stand at the positions they belong to.
    pub(super) fn run(
        &self,
        at: &mut Context<'_>,
        inputs: &[Signal],
        prefix: &str,
        reverse: bool,
    ) -> Result<Gone, ShapeError> {
        let (x, begun) = sequence_and_states(at, inputs, 1, self.units, self.stateful.then_some(prefix))?;
        let [batch, _, features] = at.extents(x.value)?;
        let gates = at.product(&[3, self.units])?;
        let seen = dropped_input(at, x.value, self.dropout)?;
        let cell = format!("{prefix}gru_cell");
        let projected = project(at, seen, &cell, features, gates)?;
        let name = format!("{cell}/recurrent_kernel");
        let recurrent = at.parameter(&name, [self.units, gates], Init::Orthogonal)?;
        let (projected, recurrent_bias) = self.biased(at, projected, &cell, gates)?;
        let mask = recurrent_mask(at, self.recurrent_dropout, batch, self.units)?;
        let way = self.way(reverse);
        let plain = begun.zeros && self.reset_after;
        if plain && is_plain(self.activation, self.recurrent_activation, mask) {
            let operands: Vec<ValueId> =
                [projected, recurrent, recurrent_bias].into_iter().chain(x.mask).collect();
            let states = at.op(op::Gru { reverse }, &operands)?;
            let result = finish(at, x.with(states), self.return_sequences, reverse)?;
            let last = match self.return_state && self.return_sequences {
                true => finish(at, x.with(states), false, reverse)?.value,
                false => result.value,
            };
            return Gone { result, states: vec![last] }.zeroed(at, x.mask, way);
        }
        go(at, x.with(projected), &begun, 0, way, |at, x, states| {
            let seen = mask.apply(at, states[0])?;
            Ok(vec![self.step(at, x, [states[0], seen], [recurrent, recurrent_bias])?])
        })
    }

    /// The projection with its bias, and the bias of the state's product.
    fn biased(
        &self,
        at: &mut Context<'_>,
        projected: ValueId,
        cell: &str,
        gates: usize,
    ) -> Result<(ValueId, ValueId), ShapeError> {
        let shape = if self.reset_after { Shape::new([2, gates]) } else { Shape::new([gates]) };
        let bias = match self.use_bias {
            true => Some(at.parameter(&format!("{cell}/bias"), shape, Init::Constant(0.0))?),
            false => None,
        };
        self.with_bias(at, projected, bias)
    }

    /// The same with a bias that is there already.
    pub(super) fn with_bias(
        &self,
        at: &mut Context<'_>,
        projected: ValueId,
        bias: Option<ValueId>,
    ) -> Result<(ValueId, ValueId), ShapeError> {
        let gates = 3 * self.units;
        if let Some(biases) = bias.filter(|_| self.reset_after) {
            let input_bias = row(at, biases, 0, gates)?;
            let projected = at.op(BiasAdd {}, &[projected, input_bias])?;
            return Ok((projected, row(at, biases, 1, gates)?));
        }
        let nothing = at.op(Fill { shape: [gates].into(), value: 0.0 }, &[])?;
        match bias {
            Some(bias) => Ok((at.op(BiasAdd {}, &[projected, bias])?, nothing)),
            None => Ok((projected, nothing)),
        }
    }

    /// The new state, from the old one and from what recurrent dropout leaves of it; gates stand in Keras's order:
    /// update, reset, candidate.
    pub(super) fn step(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        [h, seen]: [ValueId; 2],
        [recurrent, bias]: [ValueId; 2],
    ) -> Result<ValueId, ShapeError> {
        let u = self.units;
        let gate_columns = if self.reset_after { recurrent } else { columns(at, recurrent, 0, 2 * u)? };
        let mut carried = at.op(MatMul::default(), &[seen, gate_columns])?;
        if self.reset_after {
            carried = at.op(BiasAdd {}, &[carried, bias])?;
        }
        let update = self.gate(at, x, carried, 0)?;
        let reset = self.gate(at, x, carried, u)?;
        let inner = if self.reset_after {
            let inner = columns(at, carried, 2 * u, u)?;
            at.op(Binary::Multiply, &[reset, inner])?
        } else {
            let left = at.op(Binary::Multiply, &[reset, seen])?;
            let candidate_columns = columns(at, recurrent, 2 * u, u)?;
            at.op(MatMul::default(), &[left, candidate_columns])?
        };
        let candidate = columns(at, x, 2 * u, u)?;
        let candidate = at.op(Binary::Add, &[candidate, inner])?;
        let candidate = self.activation.apply(at, candidate)?;
        let kept = at.op(Binary::Multiply, &[update, h])?;
        let rest = at.op(Unary::Negate, &[update])?;
        let rest = at.op(Unary::AddScalar(1.0), &[rest])?;
        let added = at.op(Binary::Multiply, &[rest, candidate])?;
        at.op(Binary::Add, &[kept, added])
    }

    fn gate(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        carried: ValueId,
        start: usize,
    ) -> Result<ValueId, ShapeError> {
        let x = columns(at, x, start, self.units)?;
        let carried = columns(at, carried, start, self.units)?;
        let sum = at.op(Binary::Add, &[x, carried])?;
        self.recurrent_activation.apply(at, sum)
    }
}

/// One row of the two biases: for the input and for the state.
fn row(at: &mut Context<'_>, biases: ValueId, index: usize, gates: usize) -> Result<ValueId, ShapeError> {
    let row = at.op(Slice { start: vec![index, 0], size: vec![1, gates] }, &[biases])?;
    at.op(op::Reshape { shape: [gates].into() }, &[row])
}
