//! GRU, from its definition: one example of the batch at a time, one step of time at a time.

use super::lstm::{is_seen, order, product, sigmoid};
use super::tensor::flat;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Gru, GruGradient};

impl Meaning for Gru {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let (projected, recurrent, bias, mask) = (inputs[0], inputs[1], inputs[2], inputs.get(3).copied());
        let ([n, t, _], [u, _]) = (projected.extents(), recurrent.extents());
        let [mut h, mut inner] = [(); 2].map(|()| vec![0.0; n * t * u]);
        let mut gates = vec![0.0; n * t * 3 * u];
        for example in 0..n {
            let mut state = vec![0.0; u];
            for position in order(self.reverse, t) {
                let p: Vec<f64> = (0..3 * u).map(|j| product(&state, recurrent, j) + bias.data[j]).collect();
                let row = example * t + position;
                for unit in 0..u {
                    let x = |number: usize| projected.at([example, position, number * u + unit]);
                    let z = sigmoid(x(0) + p[unit]);
                    let r = sigmoid(x(1) + p[u + unit]);
                    let candidate = (x(2) + r * p[2 * u + unit]).tanh();
                    for (number, value) in [z, r, candidate].into_iter().enumerate() {
                        gates[row * 3 * u + number * u + unit] = value;
                    }
                    if is_seen(mask, example, position) {
                        state[unit] = z * state[unit] + (1.0 - z) * candidate;
                    }
                }
                h[row * u..][..u].copy_from_slice(&state);
                inner[row * u..][..u].copy_from_slice(&p[2 * u..]);
            }
        }
        vec![h, gates, inner]
    }
}

impl Meaning for GruGradient {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [recurrent, h, gates, inner, dh] = inputs[..5] else {
            unreachable!("the shape rule has checked the inputs")
        };
        let mask = inputs.get(5).copied();
        let [n, t, u] = h.extents();
        let mut dprojected = vec![0.0; n * t * 3 * u];
        let mut drecurrent = vec![0.0; u * 3 * u];
        let mut dbias = vec![0.0; 3 * u];
        for example in 0..n {
            let mut dstate = vec![0.0; u];
            let mut steps = order(self.reverse, t);
            while let Some(position) = steps.pop() {
                let previous = steps.last().copied();
                (0..u).for_each(|unit| dstate[unit] += dh.at([example, position, unit]));
                if !is_seen(mask, example, position) {
                    continue;
                }
                let before = |unit| previous.map_or(0.0, |step| h.at([example, step, unit]));
                // The gradients of the products with the state; those of the projection differ in the candidate.
                let mut dp = vec![0.0; 3 * u];
                let start = flat(gates.shape(), &[example, position, 0]);
                for unit in 0..u {
                    let gate = |number: usize| gates.at([example, position, number * u + unit]);
                    let [z, r, candidate] = [0, 1, 2].map(gate);
                    let dcandidate = dstate[unit] * (1.0 - z) * (1.0 - candidate * candidate);
                    dp[unit] = dstate[unit] * (before(unit) - candidate) * z * (1.0 - z);
                    dp[u + unit] = dcandidate * inner.at([example, position, unit]) * r * (1.0 - r);
                    dp[2 * u + unit] = dcandidate * r;
                    for (number, value) in [dp[unit], dp[u + unit], dcandidate].into_iter().enumerate() {
                        dprojected[start + number * u + unit] = value;
                    }
                    dstate[unit] *= z;
                }
                for unit in 0..u {
                    dstate[unit] += (0..3 * u).map(|j| dp[j] * recurrent.at([unit, j])).sum::<f64>();
                    if previous.is_some() {
                        (0..3 * u).for_each(|j| drecurrent[unit * 3 * u + j] += before(unit) * dp[j]);
                    }
                }
                (0..3 * u).for_each(|j| dbias[j] += dp[j]);
            }
        }
        vec![dprojected, drecurrent, dbias]
    }
}
