//! A profile of a machine: what its time goes into, class by class.
//!
//! `seconds = op + flops * flop + cached bytes * cached_byte + memory bytes *
//! memory_byte`, with the four prices of the op's [`Class`] and the quantities of its [`Effort`]. Prices add up, as in
//! a machine that hides nothing; where it hides something, the prices that were fitted to its times are lower. Nothing
//! is measured here: this crate reads no clock.

mod class;
mod effort;
mod typical;

pub use class::Class;
pub use effort::Effort;

use plimsoll_graph::{Graph, OpId, OpKind, TensorType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How fast a machine runs each class of ops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What was measured: processor, cores, version.
    pub machine: String,
    /// On how many threads.
    pub threads: usize,
    /// Whether it was measured at all. If not, it is a guess that gets proportions about right.
    pub calibrated: bool,
    /// What each class costs.
    pub costs: BTreeMap<Class, Cost>,
}

/// The prices of a class, in seconds; 0 where something costs nothing of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Of running an op at all.
    pub op: f64,
    /// Of a floating-point operation.
    pub flop: f64,
    /// Of a byte that is in a cache.
    pub cached_byte: f64,
    /// Of a byte that is not.
    pub memory_byte: f64,
}

impl Default for Profile {
    /// A guess for machines that were not measured.
    fn default() -> Self {
        typical::profile()
    }
}

impl Profile {
    /// How long an op takes.
    pub fn seconds(&self, kind: &OpKind, inputs: &[TensorType], outputs: &[TensorType]) -> f64 {
        let cost = Class::of(kind, inputs).and_then(|class| self.costs.get(&class));
        cost.map_or(0.0, |cost| cost.seconds(&Effort::of(kind, inputs, outputs)))
    }

    /// How long one op of a graph takes.
    pub fn op_seconds(&self, graph: &Graph, op: OpId) -> f64 {
        let op = graph.op(op);
        let types = |ids: &[_]| ids.iter().map(|&id| graph.tensor(id).clone()).collect::<Vec<_>>();
        self.seconds(&op.kind, &types(&op.inputs), &types(&op.outputs))
    }

    /// Whether it can be used: every class has prices, none is negative or infinite, and larger ops take longer.
    pub fn is_sound(&self) -> bool {
        let sound = |cost: &Cost| {
            let prices = cost.prices();
            prices.iter().all(|price| price.is_finite() && *price >= 0.0)
                && prices[1..].iter().sum::<f64>() > 0.0
        };
        Class::ALL.iter().all(|class| self.costs.get(class).is_some_and(sound))
    }
}

impl Cost {
    /// From prices in the order of [`Effort::terms`], rounded to four digits: no more are known, and these survive a
    /// trip through text.
    pub fn from_prices(prices: [f64; 4]) -> Self {
        let rounded = |price: f64| format!("{price:.3e}").parse().unwrap_or(price);
        let [op, flop, cached_byte, memory_byte] = prices.map(rounded);
        Self { op, flop, cached_byte, memory_byte }
    }

    /// The prices in the order of [`Effort::terms`].
    pub fn prices(&self) -> [f64; 4] {
        [self.op, self.flop, self.cached_byte, self.memory_byte]
    }

    /// What an effort costs.
    pub fn seconds(&self, effort: &Effort) -> f64 {
        self.prices().iter().zip(effort.terms()).map(|(price, quantity)| price * quantity).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_graph::op::{Conv2d, MatMul, Reshape, Unary};

    fn seconds(kind: impl Into<OpKind>, inputs: &[TensorType]) -> f64 {
        let kind = kind.into();
        let outputs = kind.infer(inputs).expect("the types fit");
        Profile::default().seconds(&kind, inputs, &outputs)
    }

    #[test]
    fn the_default_is_sound_and_says_that_it_is_a_guess() {
        let profile = Profile::default();
        assert!(profile.is_sound());
        assert!(!profile.calibrated);
        assert!(profile.machine.contains("not measured"));
    }

    #[test]
    fn a_profile_without_a_class_or_with_absurd_prices_is_not_sound() {
        let mut missing = Profile::default();
        missing.costs.remove(&Class::Update);
        assert!(!missing.is_sound());
        for price in [-1e-9, f64::NAN, f64::INFINITY] {
            let mut absurd = Profile::default();
            absurd.costs.insert(Class::Product, Cost { op: price, ..Default::default() });
            assert!(!absurd.is_sound(), "{price}");
        }
        let mut constant = Profile::default();
        constant.costs.insert(Class::Product, Cost { op: 1e-6, ..Default::default() });
        assert!(!constant.is_sound());
    }

    #[test]
    fn profiles_round_trip_as_json() {
        let profile = Profile::default();
        let text = serde_json::to_string(&profile).unwrap();
        assert!(text.contains("\"batch_norm_gradient\""), "{text}");
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    }

    #[test]
    fn time_grows_with_the_batch() {
        let ops: [(OpKind, Vec<TensorType>); 2] = [
            (Conv2d::default().into(), vec![TensorType::f32([3, 3, 16, 32])]),
            (Unary::Relu.into(), Vec::new()),
        ];
        for (kind, rest) in ops {
            let at = |batch: usize| {
                let images = TensorType::f32([batch, 28, 28, 16]);
                seconds(kind.clone(), &[vec![images], rest.clone()].concat())
            };
            let times = [1, 2, 4, 8, 16, 32, 64, 128].map(at);
            assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        }
    }

    #[test]
    fn views_are_free_and_absurd_sizes_are_finite() {
        assert_eq!(seconds(Reshape { shape: [6].into() }, &[TensorType::f32([2, 3])]), 0.0);
        let huge = TensorType::f32([1 << 22, 1 << 22]);
        assert!(seconds(MatMul::default(), &[huge.clone(), huge]).is_finite());
    }
}
