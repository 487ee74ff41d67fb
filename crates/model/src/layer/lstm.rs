//! Long short-term memory (Hochreiter and Schmidhuber 1997).

use super::begun::Begun;
use super::dropout::drop_elements;
use super::stepwise::{Gone, Way, go};
use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{self, BiasAdd, Binary, Fill, MatMul, Slice};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// An LSTM. With Keras's default activations and without recurrent dropout it is one op, else a few ops a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lstm {
    /// The length of the state.
    pub units: usize,
    /// Makes candidates and results.
    pub activation: Activation,
    /// Makes gates.
    pub recurrent_activation: Activation,
    /// Whether biases are added.
    pub use_bias: bool,
    /// Whether the bias of the forget gate starts at 1.
    pub unit_forget_bias: bool,
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

impl Lstm {
    /// An LSTM that gives its last state.
    pub fn new(units: usize) -> Self {
        Self {
            units,
            activation: Activation::Tanh,
            recurrent_activation: Activation::Sigmoid,
            use_bias: true,
            unit_forget_bias: true,
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
        "lstm"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let gone = self.run(at, inputs, "", self.go_backwards)?;
        gone.finished(at, self.way(self.go_backwards), self.return_state)
    }

    fn way(&self, reverse: bool) -> Way {
        let (sequences, zero_output_for_mask) = (self.return_sequences, self.zero_output_for_mask);
        Way { reverse, sequences, zero_output_for_mask }
    }

    /// The LSTM with parameters under a prefix, in a direction; results stand at the positions they belong to.
    pub(super) fn run(
        &self,
        at: &mut Context<'_>,
        inputs: &[Signal],
        prefix: &str,
        reverse: bool,
    ) -> Result<Gone, ShapeError> {
        let (x, begun) = sequence_and_states(at, inputs, 2, self.units, self.stateful.then_some(prefix))?;
        let [batch, _, features] = at.extents(x.value)?;
        let gates = at.product(&[4, self.units])?;
        let seen = dropped_input(at, x.value, self.dropout)?;
        let cell = format!("{prefix}lstm_cell");
        let mut projected = project(at, seen, &cell, features, gates)?;
        let name = format!("{cell}/recurrent_kernel");
        let recurrent = at.parameter(&name, [self.units, gates], Init::Orthogonal)?;
        if self.use_bias {
            let init = if self.unit_forget_bias { Init::ForgetGateOnes } else { Init::Constant(0.0) };
            let bias = at.parameter(&format!("{cell}/bias"), [gates], init)?;
            projected = at.op(BiasAdd {}, &[projected, bias])?;
        }
        let mask = recurrent_mask(at, self.recurrent_dropout, batch, self.units)?;
        let way = self.way(reverse);
        // The op begins with zeros, and the gradient of its last cell would be lost.
        let plain = begun.zeros && !self.return_state;
        if plain && is_plain(self.activation, self.recurrent_activation, mask) {
            let operands: Vec<ValueId> = [projected, recurrent].into_iter().chain(x.mask).collect();
            let states = at.op(op::Lstm { reverse }, &operands)?;
            let result = finish(at, x.with(states), self.return_sequences, reverse)?;
            return Gone { result, states: Vec::new() }.zeroed(at, x.mask, way);
        }
        go(at, x.with(projected), &begun, 0, way, |at, x, states| {
            let h = mask.apply(at, states[0])?;
            Ok(self.step(at, x, [h, states[1]], recurrent)?.to_vec())
        })
    }

    /// The new state and cell; gates stand in Keras's order: input, forget, candidate, output.
    pub(super) fn step(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        [h, c]: [ValueId; 2],
        recurrent: ValueId,
    ) -> Result<[ValueId; 2], ShapeError> {
        let carried = at.op(MatMul::default(), &[h, recurrent])?;
        let sum = at.op(Binary::Add, &[x, carried])?;
        let [input, forget, candidate, output] =
            [0, 1, 2, 3].map(|gate| columns(at, sum, gate * self.units, self.units));
        let input = self.recurrent_activation.apply(at, input?)?;
        let forget = self.recurrent_activation.apply(at, forget?)?;
        let candidate = self.activation.apply(at, candidate?)?;
        let output = self.recurrent_activation.apply(at, output?)?;
        let kept = at.op(Binary::Multiply, &[forget, c])?;
        let added = at.op(Binary::Multiply, &[input, candidate])?;
        let c = at.op(Binary::Add, &[kept, added])?;
        let shown = self.activation.apply(at, c)?;
        Ok([at.op(Binary::Multiply, &[output, shown])?, c])
    }
}

/// What a recurrent layer reads: a sequence, and the states it begins with.
pub(super) fn sequence_and_states(
    at: &mut Context<'_>,
    inputs: &[Signal],
    count: usize,
    units: usize,
    stateful: Option<&str>,
) -> Result<(Signal, Begun), ShapeError> {
    let Some((&x, given)) = inputs.split_first() else {
        return Err(at.refusal(&[], "it takes a sequence".to_string()));
    };
    // No state is made where the gates are absurdly many.
    at.product(&[4, units])?;
    let [batch, ..]: [usize; 3] = at.extents(x.value)?;
    let shapes = vec![Shape::new([batch, units]); count];
    Ok((x, Begun::new(at, given, &shapes, stateful)?))
}

/// The mask of recurrent dropout, the same at every step, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecurrentMask(Option<ValueId>);

impl RecurrentMask {
    /// The state with some of its elements dropped.
    pub(super) fn apply(self, at: &mut Context<'_>, state: ValueId) -> Result<ValueId, ShapeError> {
        match self.0 {
            Some(mask) => at.op(Binary::Multiply, &[state, mask]),
            None => Ok(state),
        }
    }
}

/// Makes the mask of recurrent dropout.
pub(super) fn recurrent_mask(
    at: &mut Context<'_>,
    rate: f32,
    batch: usize,
    units: usize,
) -> Result<RecurrentMask, ShapeError> {
    if !at.is_training() || rate == 0.0 {
        return Ok(RecurrentMask(None));
    }
    let ones = at.op(Fill { shape: [batch, units].into(), value: 1.0 }, &[])?;
    Ok(RecurrentMask(Some(drop_elements(at, rate, ones)?)))
}

/// In training, the sequence with some of its features dropped, the same at every position.
pub(super) fn dropped_input(at: &mut Context<'_>, x: ValueId, rate: f32) -> Result<ValueId, ShapeError> {
    if !at.is_training() || rate == 0.0 {
        return Ok(x);
    }
    let [batch, _, features] = at.extents(x)?;
    let ones = at.op(Fill { shape: [batch, 1, features].into(), value: 1.0 }, &[])?;
    let mask = drop_elements(at, rate, ones)?;
    at.op(Binary::Multiply, &[x, mask])
}

/// Whether the op of a recurrent layer computes it.
pub(super) fn is_plain(activation: Activation, recurrent: Activation, mask: RecurrentMask) -> bool {
    activation == Activation::Tanh && recurrent == Activation::Sigmoid && mask.0.is_none()
}

/// So many columns of a matrix.
pub(super) fn columns(
    at: &mut Context<'_>,
    matrix: ValueId,
    start: usize,
    count: usize,
) -> Result<ValueId, ShapeError> {
    let [rows, _] = at.extents(matrix)?;
    at.op(Slice { start: vec![0, start], size: vec![rows, count] }, &[matrix])
}

/// Adds the kernel and its product with every position.
pub(super) fn project(
    at: &mut Context<'_>,
    x: ValueId,
    cell: &str,
    features: usize,
    gates: usize,
) -> Result<ValueId, ShapeError> {
    let shape = Shape::new([features, gates]);
    let init = Initializer::GLOROT_UNIFORM.for_kernel(&shape);
    let kernel = at.parameter(&format!("{cell}/kernel"), shape, init)?;
    at.op(MatMul::default(), &[x, kernel])
}

/// All states with their mask, or the state after the last step.
pub(super) fn finish(at: &mut Context<'_>, states: Signal, sequences: bool, reverse: bool) -> Lowered {
    if sequences {
        return Ok(states);
    }
    let [batch, length, units] = at.extents(states.value)?;
    let last = if reverse { 0 } else { length - 1 };
    let slice = Slice { start: vec![0, last, 0], size: vec![batch, 1, units] };
    let state = at.op(slice, &[states.value])?;
    Ok(Signal::bare(at.op(op::Reshape { shape: [batch, units].into() }, &[state])?))
}
