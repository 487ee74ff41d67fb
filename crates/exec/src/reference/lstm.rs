//! LSTM, from its definition: one example of the batch at a time, one step of time at a time.

use super::tensor::flat;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Lstm, LstmGradient};

impl Meaning for Lstm {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let (projected, recurrent, mask) = (inputs[0], inputs[1], inputs.get(2).copied());
        let ([n, t, _], [u, _]) = (projected.extents(), recurrent.extents());
        let [mut h, mut c] = [(); 2].map(|()| vec![0.0; n * t * u]);
        let mut gates = vec![0.0; n * t * 4 * u];
        for example in 0..n {
            let [mut h_state, mut c_state] = [(); 2].map(|()| vec![0.0; u]);
            for position in order(self.reverse, t) {
                let sums: Vec<f64> = (0..4 * u)
                    .map(|j| projected.at([example, position, j]) + product(&h_state, recurrent, j))
                    .collect();
                let row = example * t + position;
                for unit in 0..u {
                    let gate = |number: usize| sums[number * u + unit];
                    let [input, forget, output] = [0, 1, 3].map(|number| sigmoid(gate(number)));
                    let candidate = gate(2).tanh();
                    for (number, value) in [input, forget, candidate, output].into_iter().enumerate() {
                        gates[row * 4 * u + number * u + unit] = value;
                    }
                    if is_seen(mask, example, position) {
                        c_state[unit] = forget * c_state[unit] + input * candidate;
                        h_state[unit] = output * c_state[unit].tanh();
                    }
                }
                h[row * u..][..u].copy_from_slice(&h_state);
                c[row * u..][..u].copy_from_slice(&c_state);
            }
        }
        vec![h, c, gates]
    }
}

impl Meaning for LstmGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [recurrent, h, c, gates, dh] = inputs[..5] else {
            unreachable!("the shape rule has checked the inputs")
        };
        let mask = inputs.get(5).copied();
        let [n, t, u] = h.extents();
        let mut dprojected = vec![0.0; n * t * 4 * u];
        let mut drecurrent = vec![0.0; u * 4 * u];
        for example in 0..n {
            let [mut dh_state, mut dc_state] = [(); 2].map(|()| vec![0.0; u]);
            let mut steps = order(self.reverse, t);
            while let Some(position) = steps.pop() {
                let previous = steps.last().copied();
                (0..u).for_each(|unit| dh_state[unit] += dh.at([example, position, unit]));
                if !is_seen(mask, example, position) {
                    continue;
                }
                let before =
                    |state: &Tensor, unit| previous.map_or(0.0, |step| state.at([example, step, unit]));
                let mut dsums = vec![0.0; 4 * u];
                for unit in 0..u {
                    let gate = |number: usize| gates.at([example, position, number * u + unit]);
                    let [i, f, g, o] = [0, 1, 2, 3].map(gate);
                    let squashed = c.at([example, position, unit]).tanh();
                    let dc = dc_state[unit] + dh_state[unit] * o * (1.0 - squashed * squashed);
                    dsums[unit] = dc * g * i * (1.0 - i);
                    dsums[u + unit] = dc * before(c, unit) * f * (1.0 - f);
                    dsums[2 * u + unit] = dc * i * (1.0 - g * g);
                    dsums[3 * u + unit] = dh_state[unit] * squashed * o * (1.0 - o);
                    dc_state[unit] = dc * f;
                }
                for unit in 0..u {
                    dh_state[unit] = (0..4 * u).map(|j| dsums[j] * recurrent.at([unit, j])).sum();
                    if previous.is_some() {
                        (0..4 * u).for_each(|j| drecurrent[unit * 4 * u + j] += before(h, unit) * dsums[j]);
                    }
                }
                let start = flat(gates.shape(), &[example, position, 0]);
                dprojected[start..][..4 * u].copy_from_slice(&dsums);
            }
        }
        vec![dprojected, drecurrent]
    }
}

/// The positions of a sequence in the order of time.
pub(super) fn order(reverse: bool, t: usize) -> Vec<usize> {
    if reverse { (0..t).rev().collect() } else { (0..t).collect() }
}

/// Whether a step changes the state.
pub(super) fn is_seen(mask: Option<&Tensor>, example: usize, position: usize) -> bool {
    mask.is_none_or(|mask| mask.at([example, position]) != 0.0)
}

/// One column of the product of a state with the recurrent kernel. Zeros, which is what a state begins as, are not
/// multiplied: 0 times NaN would be NaN.
pub(super) fn product(state: &[f64], recurrent: &Tensor, column: usize) -> f64 {
    let units = state.iter().enumerate().filter(|(_, h)| **h != 0.0);
    units.map(|(unit, h)| h * recurrent.at([unit, column])).sum()
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
