//! Optimizers: their rules, what they remember between steps, and Keras 3's defaults for both.

use plimsoll_graph::Shape;
use plimsoll_graph::op::Rule;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How parameters follow their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the numbers are those of the rules, which say what they are
pub enum Optimizer {
    /// Plain gradient descent.
    Sgd,
    /// Gradient descent that keeps part of its motion.
    Momentum { momentum: f64 },
    /// The same, with the gradient looked at after the motion.
    Nesterov { momentum: f64 },
    /// Steps divided by a moving root mean square of the gradient.
    RmsProp {
        rho: f64,
        epsilon: f64,
        #[serde(default)]
        momentum: f64,
        #[serde(default)]
        centered: bool,
    },
    /// Moving means of the gradient and of its square.
    Adam {
        beta1: f64,
        beta2: f64,
        epsilon: f64,
        #[serde(default)]
        amsgrad: bool,
    },
    /// Adam with weight decay apart from the gradient.
    AdamW {
        beta1: f64,
        beta2: f64,
        epsilon: f64,
        #[serde(default)]
        amsgrad: bool,
        weight_decay: f64,
    },
    /// Adam with Nesterov's motion.
    Nadam { beta1: f64, beta2: f64, epsilon: f64 },
    /// Adam with the largest gradient instead of the mean of squares.
    Adamax { beta1: f64, beta2: f64, epsilon: f64 },
    /// Steps divided by the root of all squares so far.
    Adagrad { initial: f64, epsilon: f64 },
    /// Steps as long as steps were, by moving means.
    Adadelta { rho: f64, epsilon: f64 },
    /// Follow the regularized leader.
    Ftrl { power: f64, initial: f64, l1: f64, l2: f64, shrinkage: f64, beta: f64 },
    /// Steps of the same size, in the direction of a moving mean.
    Lion { beta1: f64, beta2: f64 },
    /// Means of squares along two axes.
    Adafactor { decay: f64, epsilon1: f64, epsilon2: f64, threshold: f64 },
    /// Adam with steps relative to the size of each parameter.
    Lamb { beta1: f64, beta2: f64, epsilon: f64 },
    /// Orthogonal steps for matrices, AdamW for the others.
    Muon(Muon),
    /// AdamW that needs no schedule: the parameters are near an average.
    ScheduleFree { beta1: f64, beta2: f64, epsilon: f64, warmup: u32 },
}

/// The numbers of Muon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Muon {
    /// How much of the old motion stays.
    pub momentum: f64,
    /// Whether the gradient is looked at after the motion.
    pub nesterov: bool,
    /// The polynomial of an iteration of Newton and Schulz.
    pub polynomial: [f64; 3],
    /// How many iterations.
    pub iterations: u32,
    /// The root mean square of a step's elements, where steps are scaled to one.
    pub rms_rate: Option<f64>,
    /// The share of a matrix, times the learning rate, that is lost in each step.
    pub weight_decay: f64,
    /// Whether tables of embeddings are left to Adam.
    pub exclude_embeddings: bool,
    /// Adam's numbers for everything that is no matrix.
    pub adam: [f64; 3],
    /// The weight decay there.
    pub adam_weight_decay: f64,
    /// What the learning rate is multiplied by there.
    pub adam_rate: f64,
}

/// How one parameter is updated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follow {
    /// The rule.
    pub rule: Rule,
    /// The names of its slots.
    pub slots: &'static [&'static str],
    /// What is in each slot before the first update.
    pub initial: f64,
    /// The share, times the learning rate, that is lost in each step.
    pub weight_decay: f64,
}

const ADAM: [f64; 3] = [0.9, 0.999, 1e-7];

impl Optimizer {
    /// All optimizers with their defaults.
    pub const DEFAULTS: [Optimizer; 16] = [
        Self::Sgd,
        Self::Momentum { momentum: 0.9 },
        Self::Nesterov { momentum: 0.9 },
        Self::RmsProp { rho: 0.9, epsilon: 1e-7, momentum: 0.0, centered: false },
        Self::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, amsgrad: false },
        Self::AdamW { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, amsgrad: false, weight_decay: 0.004 },
        Self::Nadam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7 },
        Self::Adamax { beta1: 0.9, beta2: 0.999, epsilon: 1e-7 },
        Self::Adagrad { initial: 0.1, epsilon: 1e-7 },
        Self::Adadelta { rho: 0.95, epsilon: 1e-7 },
        Self::Ftrl { power: -0.5, initial: 0.1, l1: 0.0, l2: 0.0, shrinkage: 0.0, beta: 0.0 },
        Self::Lion { beta1: 0.9, beta2: 0.99 },
        Self::Adafactor { decay: -0.8, epsilon1: 1e-30, epsilon2: 1e-3, threshold: 1.0 },
        Self::Lamb { beta1: 0.9, beta2: 0.999, epsilon: 1e-7 },
        Self::Muon(Muon {
            momentum: 0.95,
            nesterov: true,
            polynomial: [3.4445, -4.775, 2.0315],
            iterations: 5,
            rms_rate: Some(0.2),
            weight_decay: 0.004,
            exclude_embeddings: true,
            adam: ADAM,
            adam_weight_decay: 0.004,
            adam_rate: 1.0,
        }),
        Self::ScheduleFree { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, warmup: 0 },
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
            Self::Nadam { .. } => "nadam",
            Self::Adamax { .. } => "adamax",
            Self::Adagrad { .. } => "adagrad",
            Self::Adadelta { .. } => "adadelta",
            Self::Ftrl { .. } => "ftrl",
            Self::Lion { .. } => "lion",
            Self::Adafactor { .. } => "adafactor",
            Self::Lamb { .. } => "lamb",
            Self::Muon(_) => "muon",
            Self::ScheduleFree { .. } => "schedule_free_adamw",
        }
    }

    /// The learning rate that Keras starts with.
    pub fn default_learning_rate(self) -> f32 {
        match self {
            Self::Sgd | Self::Momentum { .. } | Self::Nesterov { .. } => 0.01,
            Self::ScheduleFree { .. } => 0.0025,
            _ => 0.001,
        }
    }

    /// How a parameter of this shape is updated, which Muon may be told to leave to Adam.
    pub fn follow(self, shape: &Shape, left_to_adam: bool) -> Follow {
        let (rule, slots): (Rule, &[&str]) = match self {
            Self::Sgd => (Rule::Sgd, &[]),
            Self::Momentum { momentum } => (Rule::Momentum { momentum, nesterov: false }, &["m"]),
            Self::Nesterov { momentum } => (Rule::Momentum { momentum, nesterov: true }, &["m"]),
            Self::RmsProp { rho, epsilon, momentum, centered } => {
                let slots: &[&str] = match (momentum > 0.0, centered) {
                    (false, false) => &["v"],
                    (true, false) => &["v", "m"],
                    (false, true) => &["v", "a"],
                    (true, true) => &["v", "m", "a"],
                };
                (Rule::RmsProp { rho, epsilon, momentum, centered }, slots)
            }
            Self::Adam { beta1, beta2, epsilon, amsgrad }
            | Self::AdamW { beta1, beta2, epsilon, amsgrad, .. } => {
                let slots: &[&str] = if amsgrad { &["m", "v", "vhat"] } else { &["m", "v"] };
                (Rule::Adam { beta1, beta2, epsilon, amsgrad }, slots)
            }
            Self::Nadam { beta1, beta2, epsilon } => {
                (Rule::Nadam { beta1, beta2, epsilon }, &["m", "v", "u"])
            }
            Self::Adamax { beta1, beta2, epsilon } => (Rule::Adamax { beta1, beta2, epsilon }, &["m", "u"]),
            Self::Adagrad { epsilon, .. } => (Rule::Adagrad { epsilon }, &["a"]),
            Self::Adadelta { rho, epsilon } => (Rule::Adadelta { rho, epsilon }, &["a", "d"]),
            Self::Ftrl { power, l1, l2, shrinkage, beta, .. } => {
                (Rule::Ftrl { power, l1, l2, shrinkage, beta }, &["a", "l"])
            }
            Self::Lion { beta1, beta2 } => (Rule::Lion { beta1, beta2 }, &["m"]),
            Self::Adafactor { decay, epsilon1, epsilon2, threshold } => {
                let factored = shape.rank() >= 2;
                let slots: &[&str] = if factored { &["r", "c", "v"] } else { &["v"] };
                (Rule::Adafactor { decay, epsilon1, epsilon2, threshold, factored }, slots)
            }
            Self::Lamb { beta1, beta2, epsilon } => (Rule::Lamb { beta1, beta2, epsilon }, &["m", "v"]),
            Self::Muon(Muon { adam: [beta1, beta2, epsilon], .. }) if shape.rank() != 2 || left_to_adam => {
                (Rule::Adam { beta1, beta2, epsilon, amsgrad: false }, &["m", "v"])
            }
            // The motion is updated by itself; see the ops around it.
            Self::Muon(_) => (Rule::Sgd, &[]),
            Self::ScheduleFree { beta1, beta2, epsilon, warmup } => {
                (Rule::ScheduleFree { beta1, beta2, epsilon, warmup }, &["z", "v"])
            }
        };
        Follow { rule, slots, initial: self.initial(), weight_decay: self.weight_decay(rule) }
    }

    /// What of the first slot is there before the first update; the others are 0.
    fn initial(self) -> f64 {
        match self {
            Self::Adagrad { initial, .. } | Self::Ftrl { initial, .. } => initial,
            _ => 0.0,
        }
    }

    fn weight_decay(self, rule: Rule) -> f64 {
        match (self, rule) {
            (Self::AdamW { weight_decay, .. }, _) => weight_decay,
            (Self::Muon(muon), Rule::Adam { .. }) => muon.adam_weight_decay,
            (Self::Muon(muon), _) => muon.weight_decay,
            _ => 0.0,
        }
    }

    /// How many numbers are remembered for each of a large matrix.
    fn remembers(self) -> usize {
        let large = Shape::new([64, 64]);
        let motion = usize::from(matches!(self, Self::Muon(_)));
        let slots = self.follow(&large, false).rule.slots(&large).unwrap_or_default();
        motion + slots.iter().filter(|slot| **slot == large).count()
    }

    /// Optimizers that remember less, the nearest first.
    pub fn leaner(self) -> impl Iterator<Item = Self> {
        let leaner = [Self::DEFAULTS[4], Self::Momentum { momentum: 0.9 }, Self::Sgd];
        leaner.into_iter().filter(move |other| other.remembers() < self.remembers())
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
        assert_eq!(Optimizer::parse("patience"), None);
    }

    #[test]
    fn every_slot_of_the_rule_has_a_name() {
        for optimizer in Optimizer::DEFAULTS {
            for shape in [Shape::new([3]), Shape::new([3, 4]), Shape::new([2, 3, 4])] {
                let follow = optimizer.follow(&shape, false);
                assert_eq!(follow.slots.len(), follow.rule.slot_count(), "{optimizer}");
            }
        }
    }

    #[test]
    fn leaner_ones_remember_less() {
        let names = |name: &str| -> Vec<&str> {
            Optimizer::parse(name).unwrap().leaner().map(Optimizer::name).collect()
        };
        assert_eq!(names("adam"), ["momentum", "sgd"]);
        assert_eq!(names("muon"), ["sgd"]);
        assert!(names("sgd").is_empty());
        let amsgrad = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, amsgrad: true };
        assert_eq!(amsgrad.leaner().next(), Optimizer::parse("adam"));
    }
}
