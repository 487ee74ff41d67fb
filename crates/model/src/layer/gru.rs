//! Gated recurrent unit (Cho et al. 2014), with the reset gate after the product.

use super::lstm::{finish, project, refuse_reversed_sequence};
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{self, BiasAdd, Fill, Slice};
use plimsoll_graph::{Init, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// A GRU with Keras's default activations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gru {
    /// The length of the state.
    pub units: usize,
    /// Whether biases are added.
    pub use_bias: bool,
    /// Whether the reset gate is applied after the product with the state. Only this form, Keras's default, is supported.
    pub reset_after: bool,
    /// Whether the result is the state at every position rather than the last one.
    pub return_sequences: bool,
    /// Whether time runs from the last position to the first.
    pub go_backwards: bool,
}

impl Gru {
    /// A GRU that gives its last state.
    pub fn new(units: usize) -> Self {
        Self { units, use_bias: true, reset_after: true, return_sequences: false, go_backwards: false }
    }

    /// The same, giving the state at every position.
    pub fn return_sequences(self) -> Self {
        Self { return_sequences: true, ..self }
    }

    pub(super) fn kind(&self) -> &'static str {
        "gru"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        refuse_reversed_sequence(at, x, self.return_sequences && self.go_backwards)?;
        self.run(at, x, "", self.go_backwards)
    }

    /// The GRU with parameters under a prefix, in a direction; results stand at the positions they belong to.
    pub(super) fn run(&self, at: &mut Context<'_>, x: Signal, prefix: &str, reverse: bool) -> Lowered {
        if !self.reset_after {
            let problem = "the reset gate before the product (reset_after=False) is not supported";
            return Err(at.refusal(&[x.value], problem.to_string()));
        }
        let [_, _, features] = at.extents(x.value)?;
        let gates = at.product(&[3, self.units])?;
        let mut projected = project(at, x.value, &format!("{prefix}gru_cell"), features, gates)?;
        let recurrent = at.parameter(
            &format!("{prefix}gru_cell/recurrent_kernel"),
            [self.units, gates],
            Init::Orthogonal,
        )?;
        let recurrent_bias = if self.use_bias {
            let biases = at.parameter(&format!("{prefix}gru_cell/bias"), [2, gates], Init::Constant(0.0))?;
            let input_bias = row(at, biases, 0, gates)?;
            projected = at.op(BiasAdd {}, &[projected, input_bias])?;
            row(at, biases, 1, gates)?
        } else {
            at.op(Fill { shape: [gates].into(), value: 0.0 }, &[])?
        };
        let operands: Vec<ValueId> =
            [projected, recurrent, recurrent_bias].into_iter().chain(x.mask).collect();
        let states = at.op(op::Gru { reverse }, &operands)?;
        finish(at, x.with(states), self.return_sequences, reverse)
    }
}

/// One row of the two biases: for the input and for the state.
fn row(at: &mut Context<'_>, biases: ValueId, index: usize, gates: usize) -> Result<ValueId, ShapeError> {
    let row = at.op(Slice { start: vec![index, 0], size: vec![1, gates] }, &[biases])?;
    at.op(op::Reshape { shape: [gates].into() }, &[row])
}
