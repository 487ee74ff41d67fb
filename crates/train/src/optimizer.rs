//! Optimizers: their update rules, what they remember between steps, and Keras 3's defaults for both.

use plimsoll_graph::op::Update;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How parameters follow their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Plain gradient descent.
    Sgd,
    /// Gradient descent that keeps part of its motion.
    Momentum {
        /// How much of the motion stays.
        momentum: f32,
    },
    /// The same, with the gradient looked at after the motion.
    Nesterov {
        /// How much of the motion stays.
        momentum: f32,
    },
    /// Steps divided by a moving root mean square of the gradient.
    RmsProp {
        /// How much of the old mean stays.
        rho: f32,
        /// Keeps the root away from 0.
        epsilon: f32,
    },
    /// Moving means of the gradient and of its square.
    Adam {
        /// For the mean of gradients.
        beta1: f32,
        /// For the mean of their squares.
        beta2: f32,
        /// Keeps the root away from 0.
        epsilon: f32,
    },
    /// Adam with weight decay apart from the gradient.
    AdamW {
        /// For the mean of gradients.
        beta1: f32,
        /// For the mean of their squares.
        beta2: f32,
        /// Keeps the root away from 0.
        epsilon: f32,
        /// The share of a parameter, times the learning rate, that is lost in each step.
        weight_decay: f32,
    },
}

impl Optimizer {
    /// All optimizers with their defaults.
    pub const DEFAULTS: [Optimizer; 6] = [
        Self::Sgd,
        Self::Momentum { momentum: 0.9 },
        Self::Nesterov { momentum: 0.9 },
        Self::RmsProp { rho: 0.9, epsilon: 1e-7 },
        Self::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7 },
        Self::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, weight_decay: 0.004 },
    ];

    /// The optimizer of that name, with its defaults.
    pub fn parse(name: &str) -> Option<Self> {
        Self::DEFAULTS.into_iter().find(|optimizer| optimizer.name() == name)
    }

    /// The name, as on the command line and in the names of slots.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::Momentum { .. } => "momentum",
            Self::Nesterov { .. } => "nesterov",
            Self::RmsProp { .. } => "rmsprop",
            Self::Adam { .. } => "adam",
            Self::AdamW { .. } => "adamw",
        }
    }

    /// The learning rate that Keras starts with.
    pub fn default_learning_rate(self) -> f32 {
        match self {
            Self::Sgd | Self::Momentum { .. } | Self::Nesterov { .. } => 0.01,
            Self::RmsProp { .. } | Self::Adam { .. } | Self::AdamW { .. } => 0.001,
        }
    }

    /// The op that updates one parameter.
    pub fn update(self) -> Update {
        match self {
            Self::Sgd => Update::Sgd,
            Self::Momentum { momentum } => Update::Momentum { momentum, nesterov: false },
            Self::Nesterov { momentum } => Update::Momentum { momentum, nesterov: true },
            Self::RmsProp { rho, epsilon } => Update::RmsProp { rho, epsilon },
            Self::Adam { beta1, beta2, epsilon } => Update::Adam { beta1, beta2, epsilon, weight_decay: 0.0 },
            Self::AdamW { beta1, beta2, epsilon, weight_decay } => {
                Update::Adam { beta1, beta2, epsilon, weight_decay }
            }
        }
    }

    /// What is remembered of each parameter, in the order of the update's slots.
    pub fn slots(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &[],
            Self::Momentum { .. } | Self::Nesterov { .. } => &["m"],
            Self::RmsProp { .. } => &["v"],
            Self::Adam { .. } | Self::AdamW { .. } => &["m", "v"],
        }
    }

    /// Optimizers that remember less, the nearest first.
    pub fn leaner(self) -> impl Iterator<Item = Self> {
        let leaner = [Self::Momentum { momentum: 0.9 }, Self::Sgd];
        leaner.into_iter().filter(move |other| other.slots().len() < self.slots().len())
    }

    /// What the names of a slot begin with, such as `adam/m`; the parameter's name follows.
    pub fn slot_name(self, slot: &str) -> String {
        format!("{}/{slot}", self.name())
    }
}

impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for optimizer in Optimizer::DEFAULTS {
            assert_eq!(Optimizer::parse(&optimizer.to_string()), Some(optimizer));
        }
        assert_eq!(Optimizer::parse("lion"), None);
    }

    #[test]
    fn every_slot_of_the_update_has_a_name() {
        for optimizer in Optimizer::DEFAULTS {
            assert_eq!(optimizer.slots().len(), optimizer.update().slots(), "{optimizer}");
        }
    }
}
