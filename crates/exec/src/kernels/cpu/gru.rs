//! The CPU kernels of GRU. As in LSTM, each task takes a block of examples through all of time.

use super::exponential::{sigmoid, tanh};
use super::gemm::{Accumulate, Matrix, MatrixMut, gemm};
use super::lstm::{Time, in_place_of, is_seen};
use super::{Call, CpuKernel, KernelError, Types};
use crate::kernels::Input;
use plimsoll_graph::op::{Gru, GruGradient};
use rayon::prelude::*;

impl CpuKernel for Gru {
    const IN_PLACE: &[(usize, usize)] = &[(0, 1)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([projected, recurrent, bias, mask @ ..], [h, gates, inner]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let time = Time::new(h.shape(), self.reverse);
        let (kernel, mask) = ((recurrent.f32(), bias.f32()), mask.first().map(Input::f32));
        let gates = in_place_of(projected, gates);
        let state = time.block(1);
        let blocks = gates.par_chunks_mut(time.block(3)).zip(h.f32().par_chunks_mut(state));
        blocks.zip(inner.f32().par_chunks_mut(state)).enumerate().for_each(|(block, ((gates, h), inner))| {
            forward(time, kernel, time.mask_of(mask, block), gates, h, inner);
        });
        Ok(())
    }
}

impl CpuKernel for GruGradient {
    const IN_PLACE: &[(usize, usize)] = &[(2, 0)];

    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([recurrent, h, gates, inner, dh, mask @ ..], [dprojected, drecurrent, dbias]) =
            (call.inputs, call.outputs)
        else {
            unreachable!("the shape rule has checked the inputs")
        };
        let time = Time::new(h.shape(), self.reverse);
        let (recurrent, mask) = (recurrent.f32(), mask.first().map(Input::f32));
        let dprojected = in_place_of(gates, dprojected);
        let (state, piece) = (time.block(1), partials(time).max(1));
        let read =
            h.f32().par_chunks(state).zip(inner.f32().par_chunks(state)).zip(dh.f32().par_chunks(state));
        let written = dprojected.par_chunks_mut(time.block(3)).zip(call.scratch.par_chunks_mut(piece));
        written.zip(read).enumerate().for_each(|(block, ((dprojected, scratch), ((h, inner), dh)))| {
            let mut sums = Partials::new(scratch, time);
            backward(time, recurrent, time.mask_of(mask, block), dprojected, [h, inner, dh], &mut sums);
        });
        let (drecurrent, dbias) = (drecurrent.f32(), dbias.f32());
        time.recurrent_gradient(h.f32(), dprojected, 3, 2, drecurrent);
        dbias.fill(0.0);
        // Few and small, and always in the same order.
        for scratch in call.scratch.chunks_exact_mut(piece) {
            let sums = Partials::new(scratch, time);
            add(dbias, sums.dbias);
            for (row, sum) in
                drecurrent.chunks_exact_mut(3 * time.u).zip(sums.dcandidate.chunks_exact(time.u))
            {
                add(&mut row[2 * time.u..], sum);
            }
        }
        Ok(())
    }

    fn scratch(&self, types: Types<'_>) -> usize {
        let time = Time::new(&types.inputs[1].shape, false);
        time.tasks() * partials(time)
    }
}

/// How many floats [`Partials`] take.
fn partials(time: Time) -> usize {
    let u = time.u;
    2 * time.examples() * u + u * u + 3 * u
}

/// What one task of the gradient adds up. The candidate's part of the recurrent kernel is among it, since its gradient
/// is the only one that cannot be found in `dprojected` afterwards: there it lacks the reset gate.
struct Partials<'a> {
    /// Of the state, `[examples, u]`.
    dstate: &'a mut [f32],
    /// Of the product inside the candidate, at the present step, `[examples, u]`.
    dinner: &'a mut [f32],
    /// Of the candidate's part of the recurrent kernel, `[u, u]`.
    dcandidate: &'a mut [f32],
    /// Of the recurrent bias, `[3u]`.
    dbias: &'a mut [f32],
}

impl<'a> Partials<'a> {
    fn new(scratch: &'a mut [f32], time: Time) -> Self {
        let (u, states) = (time.u, time.examples() * time.u);
        let (dstate, rest) = scratch.split_at_mut(states);
        let (dinner, rest) = rest.split_at_mut(states);
        let (dcandidate, dbias) = rest.split_at_mut(u * u);
        Self { dstate, dinner, dcandidate, dbias }
    }

    fn clear(&mut self) {
        for part in [&mut *self.dstate, self.dinner, self.dcandidate, self.dbias] {
            part.fill(0.0);
        }
    }
}

/// Takes a block of examples through time. `gates` holds the projection at first.
fn forward(
    time: Time,
    (recurrent, bias): (&[f32], &[f32]),
    mask: Option<&[f32]>,
    gates: &mut [f32],
    h: &mut [f32],
    inner: &mut [f32],
) {
    let Time { t, u, .. } = time;
    let examples = h.len() / (t * u);
    let recurrent = Matrix::new(recurrent, u, 3 * u);
    for step in 0..t {
        let position = time.position(step);
        if step > 0 {
            let before = Matrix::strided(&h[time.position(step - 1) * u..], examples, u, t * u);
            let sums = MatrixMut::strided(&mut gates[position * 3 * u..], examples, 2 * u, t * 3 * u);
            gemm(before, recurrent.column_block(0, 2 * u), sums, Accumulate::Yes);
            let inner = MatrixMut::strided(&mut inner[position * u..], examples, u, t * u);
            gemm(before, recurrent.column_block(2 * u, u), inner, Accumulate::No);
        }
        for example in 0..examples {
            let row = example * t + position;
            let (gates, inner) = (&mut gates[row * 3 * u..][..3 * u], &mut inner[row * u..][..u]);
            if step == 0 {
                inner.fill(0.0);
            }
            activate(gates, inner, bias);
            time.carry(h, example, step);
            if is_seen(mask, row) {
                change_state(gates, &mut h[row * u..][..u]);
            }
        }
    }
}

/// Adds the recurrent bias and applies the activations.
fn activate(gates: &mut [f32], inner: &mut [f32], bias: &[f32]) {
    let u = inner.len();
    let (update_reset, candidate) = gates.split_at_mut(2 * u);
    update_reset.iter_mut().zip(bias).for_each(|(gate, bias)| *gate = sigmoid(*gate + bias));
    add(inner, &bias[2 * u..]);
    let reset = &update_reset[u..];
    for unit in 0..u {
        candidate[unit] = tanh(candidate[unit] + reset[unit] * inner[unit]);
    }
}

/// `h = z h + (1 - z) candidate`
fn change_state(gates: &[f32], h: &mut [f32]) {
    let (z, candidate) = (&gates[..h.len()], &gates[2 * h.len()..]);
    for ((h, z), candidate) in h.iter_mut().zip(z).zip(candidate) {
        *h = z * *h + (1.0 - z) * candidate;
    }
}

/// Takes a block of examples back through time. `dprojected` holds the gates at first.
fn backward(
    time: Time,
    recurrent: &[f32],
    mask: Option<&[f32]>,
    dprojected: &mut [f32],
    [h, inner, dh]: [&[f32]; 3],
    sums: &mut Partials<'_>,
) {
    let Time { t, u, .. } = time;
    let examples = h.len() / (t * u);
    sums.clear();
    for step in (0..t).rev() {
        let position = time.position(step);
        for example in 0..examples {
            let row = example * t + position;
            let dstate = &mut sums.dstate[example * u..][..u];
            add(dstate, &dh[row * u..][..u]);
            let gates = &mut dprojected[row * 3 * u..][..3 * u];
            let dinner = &mut sums.dinner[example * u..][..u];
            if !is_seen(mask, row) {
                gates.fill(0.0);
                dinner.fill(0.0);
                continue;
            }
            let before = (step > 0).then(|| &h[(example * t + time.position(step - 1)) * u..][..u]);
            change_gradient(gates, &inner[row * u..][..u], before, dstate, dinner);
            add(&mut sums.dbias[..2 * u], &gates[..2 * u]);
            add(&mut sums.dbias[2 * u..], dinner);
        }
        if step > 0 {
            let before = Matrix::strided(&h[time.position(step - 1) * u..], examples, u, t * u);
            let dsums = Matrix::strided(&dprojected[position * 3 * u..], examples, 2 * u, t * 3 * u);
            through_product(recurrent, examples, [before, dsums], sums);
        }
    }
}

/// Puts the gradients before activation in the place of the gates, those of the inner product into `dinner`, and leaves
/// in `dstate` what goes to the step before without passing a gate.
fn change_gradient(
    gates: &mut [f32],
    inner: &[f32],
    before: Option<&[f32]>,
    dstate: &mut [f32],
    dinner: &mut [f32],
) {
    let u = inner.len();
    let (update, rest) = gates.split_at_mut(u);
    let (reset, candidates) = rest.split_at_mut(u);
    for unit in 0..u {
        let (z, r, candidate) = (update[unit], reset[unit], candidates[unit]);
        let dcandidate = dstate[unit] * (1.0 - z) * (1.0 - candidate * candidate);
        update[unit] = dstate[unit] * (before.map_or(0.0, |h| h[unit]) - candidate) * z * (1.0 - z);
        reset[unit] = dcandidate * inner[unit] * r * (1.0 - r);
        candidates[unit] = dcandidate;
        dinner[unit] = dcandidate * r;
        dstate[unit] *= z;
    }
}

/// Adds to the state's gradient what comes through the recurrent kernel, and to the kernel's gradient the candidate's
/// part.
fn through_product(
    recurrent: &[f32],
    examples: usize,
    [before, dsums]: [Matrix<'_>; 2],
    sums: &mut Partials<'_>,
) {
    let u = sums.dbias.len() / 3;
    let recurrent = Matrix::new(recurrent, u, 3 * u);
    let dinner = Matrix::new(sums.dinner, examples, u);
    let gates = recurrent.column_block(0, 2 * u).transposed();
    gemm(dsums, gates, MatrixMut::new(sums.dstate, examples, u), Accumulate::Yes);
    let candidate = recurrent.column_block(2 * u, u).transposed();
    gemm(dinner, candidate, MatrixMut::new(sums.dstate, examples, u), Accumulate::Yes);
    gemm(before.transposed(), dinner, MatrixMut::new(sums.dcandidate, u, u), Accumulate::Yes);
}

fn add(sums: &mut [f32], terms: &[f32]) {
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}
