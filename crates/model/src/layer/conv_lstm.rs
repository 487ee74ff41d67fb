//! Long short-term memory whose products are convolutions (Shi et al. 2015).

use super::begun::Begun;
use super::stepwise::{Way, go};
use super::{Activation, Context, Conv3d, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{BiasAdd, Binary, Conv2d, Padding, Slice, Sliding};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// An LSTM over sequences of sequences, images or volumes: `[batch, time, ..., channels]`.
///
/// The convolution of the input is made for all positions at once, that of the state step by step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvLstm {
    /// The number of channels of the state.
    pub filters: usize,
    /// The window, with one extent an axis: one, two or three.
    pub kernel_size: Vec<usize>,
    /// Steps between neighbouring windows of the input.
    pub strides: Vec<usize>,
    /// What surrounds the input; the state is surrounded so that it keeps its size.
    pub padding: Padding,
    /// Steps between neighbouring elements of a window of the input.
    pub dilation_rate: Vec<usize>,
    /// Makes candidates and results.
    pub activation: Activation,
    /// Makes gates.
    pub recurrent_activation: Activation,
    /// Whether biases are added.
    pub use_bias: bool,
    /// Whether the bias of the forget gate starts at 1.
    pub unit_forget_bias: bool,
    /// Whether the result is the state at every position rather than the last one.
    pub return_sequences: bool,
    /// Whether the last state and cell are results, too.
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

/// How a convolution moves.
struct Moves<'a> {
    strides: &'a [usize],
    dilation: &'a [usize],
    padding: Padding,
}

impl ConvLstm {
    pub(super) fn kind(&self) -> &'static str {
        match self.kernel_size.len() {
            1 => "conv_lstm1d",
            2 => "conv_lstm2d",
            _ => "conv_lstm3d",
        }
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let rank = self.kernel_size.len();
        let [x, given @ ..] = inputs else { return Err(at.refusal(&[], "it takes an input".to_string())) };
        let extents = at.shape(x.value).extents().to_vec();
        let fits = extents.len() == rank + 3 && [0, 2].contains(&given.len());
        if !fits {
            return Err(at.refusal(&[x.value], format!("it takes rank {} and two states or none", rank + 3)));
        }
        let (batch, length, channels) = (extents[0], extents[1], extents[rank + 2]);
        let gates = at.product(&[4, self.filters])?;
        let projected = self.project(at, x.value, channels, gates)?;
        let spatial = at.shape(projected).extents()[1..=rank].to_vec();
        let unfolded = [&[batch, length], &spatial[..], &[gates]].concat();
        let projected = at.reshaped(projected, Shape::new(unfolded))?;
        let kernel = Shape::new([&self.kernel_size[..], &[self.filters, gates]].concat());
        let recurrent = at.parameter("conv_lstm_cell/recurrent_kernel", kernel, Init::Orthogonal)?;
        let projected = self.biased(at, projected, gates)?;
        let shape = Shape::new([&[batch], &spatial[..], &[self.filters]].concat());
        let begun = Begun::new(at, given, &[shape.clone(), shape], self.stateful.then_some(""))?;
        let way = Way {
            reverse: self.go_backwards,
            sequences: self.return_sequences,
            zero_output_for_mask: self.zero_output_for_mask,
        };
        let seen = Signal { value: projected, ..*x };
        let gone = go(at, seen, &begun, 0, way, |at, x, states| self.step(at, x, states, recurrent))?;
        gone.finished(at, way, self.return_state)
    }

    /// The convolution of all positions as one batch.
    fn project(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        channels: usize,
        gates: usize,
    ) -> Result<ValueId, ShapeError> {
        let extents = at.shape(x).extents().to_vec();
        let shape = Shape::new([&self.kernel_size[..], &[channels, gates]].concat());
        let init = Initializer::GLOROT_UNIFORM.for_kernel(&shape);
        let kernel = at.parameter("conv_lstm_cell/kernel", shape, init)?;
        let folded = [&[at.product(&extents[..2])?], &extents[2..]].concat();
        let folded = at.reshaped(x, Shape::new(folded))?;
        let moves = Moves { strides: &self.strides, dilation: &self.dilation_rate, padding: self.padding };
        convolve(at, folded, kernel, &moves)
    }

    fn biased(&self, at: &mut Context<'_>, projected: ValueId, gates: usize) -> Result<ValueId, ShapeError> {
        if !self.use_bias {
            return Ok(projected);
        }
        let init = if self.unit_forget_bias { Init::ForgetGateOnes } else { Init::Constant(0.0) };
        let bias = at.parameter("conv_lstm_cell/bias", [gates], init)?;
        at.op(BiasAdd {}, &[projected, bias])
    }

    /// The new state and cell; gates stand in Keras's order: input, forget, candidate, output.
    fn step(
        &self,
        at: &mut Context<'_>,
        x: ValueId,
        states: &[ValueId],
        recurrent: ValueId,
    ) -> Result<Vec<ValueId>, ShapeError> {
        let ones = vec![1; self.kernel_size.len()];
        let moves = Moves { strides: &ones, dilation: &ones, padding: Padding::Same };
        let carried = convolve(at, states[0], recurrent, &moves)?;
        let sum = at.op(Binary::Add, &[x, carried])?;
        let mut gates = Vec::with_capacity(4);
        for gate in 0..4 {
            let function = if gate == 2 { self.activation } else { self.recurrent_activation };
            let part = last_part(at, sum, gate * self.filters, self.filters)?;
            gates.push(function.apply(at, part)?);
        }
        let kept = at.op(Binary::Multiply, &[gates[1], states[1]])?;
        let added = at.op(Binary::Multiply, &[gates[0], gates[2]])?;
        let c = at.op(Binary::Add, &[kept, added])?;
        let shown = self.activation.apply(at, c)?;
        Ok(vec![at.op(Binary::Multiply, &[gates[3], shown])?, c])
    }
}

/// A convolution of sequences, images or volumes.
fn convolve(
    at: &mut Context<'_>,
    x: ValueId,
    kernel: ValueId,
    moves: &Moves<'_>,
) -> Result<ValueId, ShapeError> {
    let sliding = |strides, dilation| Sliding { strides, dilation, padding: moves.padding };
    match (moves.strides, moves.dilation) {
        (&[stride], &[dilation]) => {
            let ([batch, length, channels], [window, _, filters]) = (at.extents(x)?, at.extents(kernel)?);
            let row = at.reshaped(x, [batch, 1, length, channels])?;
            let kernel = at.reshaped(kernel, [1, window, channels, filters])?;
            let conv = Conv2d { sliding: sliding([1, stride], [1, dilation]), groups: 1 };
            let y = at.op(conv, &[row, kernel])?;
            let [_, _, length, _] = at.extents(y)?;
            at.reshaped(y, [batch, length, filters])
        }
        (&[a, b], &[c, d]) => at.op(Conv2d { sliding: sliding([a, b], [c, d]), groups: 1 }, &[x, kernel]),
        (&[a, b, c], &[d, e, f]) => {
            let [kd, kh, kw, _, filters] = at.extents(kernel)?;
            let conv = Conv3d {
                filters,
                kernel_size: [kd, kh, kw],
                strides: [a, b, c],
                padding: moves.padding,
                dilation_rate: [d, e, f],
                groups: 1,
                activation: Activation::Linear,
                use_bias: false,
                kernel_initializer: Initializer::default(),
            };
            conv.convolved(at, x, kernel)
        }
        _ => Err(at.refusal(&[x], "its window has no or too many axes".to_string())),
    }
}

/// So many channels of the last axis.
fn last_part(at: &mut Context<'_>, x: ValueId, start: usize, count: usize) -> Result<ValueId, ShapeError> {
    let mut size = at.shape(x).extents().to_vec();
    let mut from = vec![0; size.len()];
    let last = size.len() - 1;
    (from[last], size[last]) = (start, count);
    at.op(Slice { start: from, size }, &[x])
}
