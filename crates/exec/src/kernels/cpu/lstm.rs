//! The CPU kernels of LSTM. Examples of a batch know nothing of each other, so each task takes a block of
//! them through all of time.

use super::exponential::{sigmoid, tanh};
use super::gemm::{Accumulate, Matrix, MatrixMut, gemm};
use super::{Call, CpuKernel, KernelError, Types};
use crate::kernels::{Input, Output};
use plimsoll_graph::Shape;
use plimsoll_graph::op::{Lstm, LstmGradient};
use rayon::prelude::*;

/// How many rows of the recurrent kernel's gradient one task makes.
const UNITS: usize = 32;

impl CpuKernel for Lstm {
    const IN_PLACE: &[(usize, usize)] = &[(0, 2)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([projected, recurrent, mask @ ..], [h, c, gates]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let time = Time::new(h.shape(), self.reverse);
        let (recurrent, mask) = (recurrent.f32(), mask.first().map(Input::f32));
        let gates = in_place_of(projected, gates);
        let state = time.block(1);
        let blocks = gates.par_chunks_mut(time.block(4)).zip(h.f32().par_chunks_mut(state));
        blocks.zip(c.f32().par_chunks_mut(state)).enumerate().for_each(|(block, ((gates, h), c))| {
            forward(time, recurrent, time.mask_of(mask, block), gates, h, c);
        });
        Ok(())
    }
}

impl CpuKernel for LstmGradient {
    const IN_PLACE: &[(usize, usize)] = &[(3, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([recurrent, h, c, gates, dh, mask @ ..], [dprojected, drecurrent]) = (call.inputs, call.outputs)
        else {
            unreachable!("the shape rule has checked the inputs")
        };
        let time = Time::new(h.shape(), self.reverse);
        let (recurrent, mask) = (recurrent.f32(), mask.first().map(Input::f32));
        let dprojected = in_place_of(gates, dprojected);
        let state = time.block(1);
        let read = c.f32().par_chunks(state).zip(dh.f32().par_chunks(state));
        let written = dprojected.par_chunks_mut(time.block(4));
        let written = written.zip(call.scratch.par_chunks_mut((2 * time.examples() * time.u).max(1)));
        written.zip(read).enumerate().for_each(|(block, ((dprojected, scratch), (c, dh)))| {
            backward(time, recurrent, time.mask_of(mask, block), dprojected, c, dh, scratch);
        });
        time.recurrent_gradient(h.f32(), dprojected, 4, 4, drecurrent.f32());
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let time = Time::new(&types.inputs[1].shape, false);
        time.tasks() * 2 * time.examples() * time.u
    }
}

/// Takes a block of examples through time. `gates` holds the projection at first.
fn forward(
    time: Time,
    recurrent: &[f32],
    mask: Option<&[f32]>,
    gates: &mut [f32],
    h: &mut [f32],
    c: &mut [f32],
) {
    let Time { t, u, .. } = time;
    let examples = h.len() / (t * u);
    for step in 0..t {
        let position = time.position(step);
        if step > 0 {
            let before = Matrix::strided(&h[time.position(step - 1) * u..], examples, u, t * u);
            let sums = MatrixMut::strided(&mut gates[position * 4 * u..], examples, 4 * u, t * 4 * u);
            gemm(before, Matrix::new(recurrent, u, 4 * u), sums, Accumulate::Yes);
        }
        for example in 0..examples {
            let row = example * t + position;
            let gates = &mut gates[row * 4 * u..][..4 * u];
            activate(gates, u);
            time.carry(h, example, step);
            time.carry(c, example, step);
            if is_seen(mask, row) {
                change_state(gates, &mut h[row * u..][..u], &mut c[row * u..][..u]);
            }
        }
    }
}

/// Sigmoid for all gates but the candidate, which gets the hyperbolic tangent.
fn activate(gates: &mut [f32], u: usize) {
    let (input_forget, rest) = gates.split_at_mut(2 * u);
    let (candidate, output) = rest.split_at_mut(u);
    input_forget.iter_mut().for_each(|gate| *gate = sigmoid(*gate));
    candidate.iter_mut().for_each(|gate| *gate = tanh(*gate));
    output.iter_mut().for_each(|gate| *gate = sigmoid(*gate));
}

/// `c = f c + i g`, `h = o tanh(c)`
fn change_state(gates: &[f32], h: &mut [f32], c: &mut [f32]) {
    let [i, f, g, o] = quarters(gates);
    for unit in 0..c.len() {
        c[unit] = f[unit] * c[unit] + i[unit] * g[unit];
        h[unit] = o[unit] * tanh(c[unit]);
    }
}

/// Takes a block of examples back through time. `dprojected` holds the gates at first.
fn backward(
    time: Time,
    recurrent: &[f32],
    mask: Option<&[f32]>,
    dprojected: &mut [f32],
    c: &[f32],
    dh: &[f32],
    scratch: &mut [f32],
) {
    let Time { t, u, .. } = time;
    let examples = c.len() / (t * u);
    scratch.fill(0.0);
    let (dh_states, dc_states) = scratch.split_at_mut(time.examples() * u);
    for step in (0..t).rev() {
        let position = time.position(step);
        for example in 0..examples {
            let row = example * t + position;
            let dh_state = &mut dh_states[example * u..][..u];
            dh_state.iter_mut().zip(&dh[row * u..]).for_each(|(sum, dh)| *sum += dh);
            let gates = &mut dprojected[row * 4 * u..][..4 * u];
            if !is_seen(mask, row) {
                gates.fill(0.0);
                continue;
            }
            let before = (step > 0).then(|| &c[(example * t + time.position(step - 1)) * u..][..u]);
            let dc_state = &mut dc_states[example * u..][..u];
            change_gradient(gates, &c[row * u..][..u], before, dh_state, dc_state);
        }
        if step > 0 {
            let dsums = Matrix::strided(&dprojected[position * 4 * u..], examples, 4 * u, t * 4 * u);
            let dh_states = MatrixMut::new(dh_states, examples, u);
            gemm(dsums, Matrix::new(recurrent, u, 4 * u).transposed(), dh_states, Accumulate::Yes);
        }
    }
}

/// Puts the gradients before activation in the place of the gates, and leaves in the states' gradients what
/// goes to the step before; for `h` that comes from the product alone.
fn change_gradient(gates: &mut [f32], c: &[f32], before: Option<&[f32]>, dh: &mut [f32], dc: &mut [f32]) {
    let u = c.len();
    let (input, rest) = gates.split_at_mut(u);
    let (forget, rest) = rest.split_at_mut(u);
    let (candidate, output) = rest.split_at_mut(u);
    for unit in 0..u {
        let (i, f, g, o) = (input[unit], forget[unit], candidate[unit], output[unit]);
        let squashed = tanh(c[unit]);
        let dc_here = dc[unit] + dh[unit] * o * (1.0 - squashed * squashed);
        input[unit] = dc_here * g * i * (1.0 - i);
        forget[unit] = dc_here * before.map_or(0.0, |c| c[unit]) * f * (1.0 - f);
        candidate[unit] = dc_here * i * (1.0 - g * g);
        output[unit] = dh[unit] * squashed * o * (1.0 - o);
        dc[unit] = dc_here * f;
        dh[unit] = 0.0;
    }
}

fn quarters(gates: &[f32]) -> [&[f32]; 4] {
    let u = gates.len() / 4;
    [0, 1, 2, 3].map(|number| &gates[number * u..][..u])
}

/// The contents of an input, in an output that takes its place or gets a copy.
pub(super) fn in_place_of<'o>(input: &Input, output: &'o mut Output) -> &'o mut [f32] {
    let output = output.f32();
    if input.replaced_by().is_none() {
        output.copy_from_slice(input.f32());
    }
    output
}

/// Whether a step changes the state of the example in whose row of `[n * t]` it stands.
pub(super) fn is_seen(mask: Option<&[f32]>, row: usize) -> bool {
    mask.is_none_or(|mask| mask[row] != 0.0)
}

/// A batch of sequences, and the direction of time.
#[derive(Clone, Copy)]
pub(super) struct Time {
    /// Examples.
    pub(super) n: usize,
    /// Positions.
    pub(super) t: usize,
    /// Units of the state.
    pub(super) u: usize,
    reverse: bool,
}

impl Time {
    /// From the shape of the states.
    pub(super) fn new(states: &Shape, reverse: bool) -> Self {
        Self { n: states[0], t: states[1], u: states[2], reverse }
    }

    /// How many examples one task takes through time: few enough that a small batch makes several tasks, and enough
    /// that their products are worth calling.
    pub(super) fn examples(self) -> usize {
        self.n.div_ceil(4).clamp(8, 16)
    }

    /// How many tasks that makes.
    pub(super) fn tasks(self) -> usize {
        self.n.div_ceil(self.examples())
    }

    /// Where the results of a step stand.
    pub(super) fn position(self, step: usize) -> usize {
        if self.reverse { self.t - 1 - step } else { step }
    }

    /// How many elements a task's examples have, with so many numbers a unit.
    pub(super) fn block(self, numbers: usize) -> usize {
        (self.examples() * self.t * self.u * numbers).max(1)
    }

    /// The part of a mask `[n, t]` that belongs to a task.
    pub(super) fn mask_of(self, mask: Option<&[f32]>, block: usize) -> Option<&[f32]> {
        mask.map(|mask| &mask[block * self.examples() * self.t..])
    }

    /// Copies one example's state from the step before; zeros at the first.
    pub(super) fn carry(self, states: &mut [f32], example: usize, step: usize) {
        let Self { t, u, .. } = self;
        let here = (example * t + self.position(step)) * u;
        match step {
            0 => states[here..][..u].fill(0.0),
            _ => {
                let before = (example * t + self.position(step - 1)) * u;
                states.copy_within(before..before + u, here);
            }
        }
    }

    /// The gradient `[u, gates * u]` of the recurrent kernel for the first `wanted` gates (zeros for the others): the
    /// states before each step, times the gradients `[n, t, gates * u]` of what the step made of them.
    pub(super) fn recurrent_gradient(
        self,
        h: &[f32],
        dsums: &[f32],
        gates: usize,
        wanted: usize,
        drecurrent: &mut [f32],
    ) {
        let Self { n, t, u, reverse } = self;
        let (width, columns) = (gates * u, wanted * u);
        // A state stands one position before what the next step made of it.
        let (h_start, dsums_start) = if reverse { (u, 0) } else { (0, width) };
        let steps = t.saturating_sub(1);
        // Few long products are better than many short ones, so the longer of time and batch is inside.
        let by_step = n > steps;
        let (outer, inner) = if by_step { (steps, n) } else { (n, steps) };
        let (outer_stride, inner_stride) = if by_step { (1, t) } else { (t, 1) };
        drecurrent.par_chunks_mut((UNITS * width).max(1)).enumerate().for_each(|(block, drecurrent)| {
            drecurrent.fill(0.0);
            let units = drecurrent.len() / width;
            for index in 0..outer {
                let h = &h[h_start + index * outer_stride * u..];
                let h = Matrix::strided(h, inner, u, inner_stride * u).column_block(block * UNITS, units);
                let dsums = &dsums[dsums_start + index * outer_stride * width..];
                let dsums = Matrix::strided(dsums, inner, columns, inner_stride * width);
                let result = MatrixMut::strided(drecurrent, units, columns, width);
                gemm(h.transposed(), dsums, result, Accumulate::Yes);
            }
        });
    }
}
