//! A profile of a machine: what its time goes into, class by class.
//!
//! `seconds = op + flops * flop + cached bytes * cached_byte + memory bytes * memory_byte`, with the four prices of the op's [`Class`]
//! and the quantities of its [`Effort`]. Prices add up, as in a machine that hides nothing; where it hides something, the prices that
//! were fitted to its times are lower. Nothing is measured here: this crate reads no clock.

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

    /// Whether it can be used: every class has prices, none is negative or infinite, and every op takes some time.
    pub fn is_sound(&self) -> bool {
        let sound = |cost: &Cost| {
            let prices = cost.prices();
            prices.iter().all(|price| price.is_finite() && *price >= 0.0) && prices.iter().sum::<f64>() > 0.0
        };
        Class::ALL.iter().all(|class| self.costs.get(class).is_some_and(sound))
    }
}

impl Cost {
    /// From prices in the order of [`Effort::terms`].
    pub fn from_prices([op, flop, cached_byte, memory_byte]: [f64; 4]) -> Self {
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
