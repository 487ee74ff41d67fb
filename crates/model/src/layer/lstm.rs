//! Long short-term memory (Hochreiter and Schmidhuber 1997).

use super::{Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{self, BiasAdd, MatMul};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// An LSTM with Keras's default activations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lstm {
    /// The length of the state.
    pub units: usize,
    /// Whether biases are added.
    pub use_bias: bool,
    /// Whether the bias of the forget gate starts at 1.
    pub unit_forget_bias: bool,
    /// Whether the result is the state at every position rather than the last one.
    pub return_sequences: bool,
    /// Whether time runs from the last position to the first.
    pub go_backwards: bool,
}

impl Lstm {
    /// An LSTM that gives its last state.
    pub fn new(units: usize) -> Self {
        Self { units, use_bias: true, unit_forget_bias: true, return_sequences: false, go_backwards: false }
    }

    /// The same, giving the state at every position.
    pub fn return_sequences(self) -> Self {
        Self { return_sequences: true, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "lstm"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        refuse_reversed_sequence(at, x, self.return_sequences && self.go_backwards)?;
        self.run(at, x, "", self.go_backwards)
    }

    /// The LSTM with parameters under a prefix, in a direction; results stand at the positions they belong to.
    pub(super) fn run(&self, at: &mut Context<'_>, x: Signal, prefix: &str, reverse: bool) -> Lowered {
        let [_, _, features] = at.extents(x.value)?;
        let gates = at.product(&[4, self.units])?;
        let projected = project(at, x.value, &format!("{prefix}lstm_cell"), features, gates)?;
        let recurrent = at.parameter(
            &format!("{prefix}lstm_cell/recurrent_kernel"),
            [self.units, gates],
            Init::Orthogonal,
        )?;
        let projected = match self.use_bias {
            true => {
                let init = if self.unit_forget_bias { Init::ForgetGateOnes } else { Init::Constant(0.0) };
                let bias = at.parameter(&format!("{prefix}lstm_cell/bias"), [gates], init)?;
                at.op(BiasAdd {}, &[projected, bias])?
            }
            false => projected,
        };
        let operands: Vec<ValueId> = [projected, recurrent].into_iter().chain(x.mask).collect();
        let states = at.op(op::Lstm { reverse }, &operands)?;
        finish(at, x.with(states), self.return_sequences, reverse)
    }
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
    let slice = op::Slice { start: vec![0, last, 0], size: vec![batch, 1, units] };
    let state = at.op(slice, &[states.value])?;
    Ok(Signal::bare(at.op(op::Reshape { shape: [batch, units].into() }, &[state])?))
}

/// Keras gives a sequence that ran backwards in the order of its steps, which would need a reversal.
pub(super) fn refuse_reversed_sequence(at: &Context<'_>, x: Signal, refused: bool) -> Result<(), ShapeError> {
    let problem = "a sequence in reversed order is not supported outside of a bidirectional layer";
    if refused { Err(at.refusal(&[x.value], problem.to_string())) } else { Ok(()) }
}
