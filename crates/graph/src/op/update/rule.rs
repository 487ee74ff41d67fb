//! How one parameter follows its gradient: the formulas of Keras 3's optimizers.

use crate::Shape;
use serde::{Deserialize, Serialize};

/// A formula, with the numbers that stand in it. `lr` is the learning rate, `t` the number of the update, counted from
/// 1; `p` is the parameter and `g` its gradient. Slots are in the order in which they are named.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `p -= lr g`
    Sgd,
    /// Slot `m = momentum m - lr g`, `p += m`, or with Nesterov `p += momentum m - lr g`.
    Momentum {
        /// How much of the old motion stays.
        momentum: f64,
        /// Whether the gradient is looked at after the motion.
        nesterov: bool,
    },
    /// Slots `v = rho v + (1 - rho) g^2`; with momentum `m = momentum m + s`; centered `a = rho a + (1 - rho) g`. The
    /// step `s = lr g / sqrt(v - a^2 + epsilon)`, and `p -= m` or `p -= s`.
    RmsProp {
        /// How much of the old mean stays.
        rho: f64,
        /// Keeps the root away from 0.
        epsilon: f64,
        /// How much of the old motion stays; 0 has no slot for it.
        momentum: f64,
        /// Whether the mean gradient is taken off.
        centered: bool,
    },
    /// Slots `m += (g - m)(1 - beta1)`, `v += (g^2 - v)(1 - beta2)`, with AMSGrad their largest `v` so far;
    /// `p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon)`.
    Adam {
        /// For the mean of gradients.
        beta1: f64,
        /// For the mean of their squares.
        beta2: f64,
        /// Keeps the root away from 0.
        epsilon: f64,
        /// Whether the largest mean of squares counts.
        amsgrad: bool,
    },
    /// Slots `m`, `v` as Adam's, and the scalar `u = u beta1 (1 - 0.96^t / 2)`; Nesterov's motion in Adam.
    Nadam {
        /// For the mean of gradients.
        beta1: f64,
        /// For the mean of their squares.
        beta2: f64,
        /// Keeps the root away from 0.
        epsilon: f64,
    },
    /// Slots `m` as Adam's, `u = max(beta2 u, |g|)`; `p -= lr m / ((1 - beta1^t)(u + epsilon))`.
    Adamax {
        /// For the mean of gradients.
        beta1: f64,
        /// How much of the old largest stays.
        beta2: f64,
        /// Keeps the divisor away from 0.
        epsilon: f64,
    },
    /// Slot `a += g^2`; `p -= lr g / sqrt(a + epsilon)`.
    Adagrad {
        /// Keeps the root away from 0.
        epsilon: f64,
    },
    /// Slots `a = rho a + (1 - rho) g^2`, `d = rho d + (1 - rho) s^2` with `s = sqrt(d + epsilon) g / sqrt(a +
    /// epsilon)` of the old `d`; `p -= lr s`.
    Adadelta {
        /// How much of the old means stays.
        rho: f64,
        /// Keeps the roots away from 0.
        epsilon: f64,
    },
    /// Slots `a` and `l`, follow the regularized leader: `b = a + g^2`, `l += g + 2 shrinkage p - (b^-power -
    /// a^-power) / lr p`, `p = (clip(l, l1) - l) / (b^-power / lr + 2 (l2 + beta / (2 lr)))`, `a = b`.
    Ftrl {
        /// Not above 0.
        power: f64,
        /// Weights below it become 0.
        l1: f64,
        /// Pulls weights to 0.
        l2: f64,
        /// Pulls the gradient to the weights.
        shrinkage: f64,
        /// Slows the first steps down.
        beta: f64,
    },
    /// Slot `m`: `p -= lr sign(beta1 m + (1 - beta1) g)`, then `m = beta2 m + (1 - beta2) g`.
    Lion {
        /// How much of the old mean counts in the step.
        beta1: f64,
        /// How much of it stays.
        beta2: f64,
    },
    /// Factored, slots `r` and `c`, the means of `g^2` along the last axis and the one before it, and `v = r c /
    /// mean(r)`; else `v` alone. Steps are relative to the size of the parameter.
    Adafactor {
        /// How the share of the past grows.
        decay: f64,
        /// Keeps squares away from 0.
        epsilon1: f64,
        /// Keeps the size of parameters away from 0.
        epsilon2: f64,
        /// The most that the root mean square of a step may be.
        threshold: f64,
        /// Whether two axes have means of their own.
        factored: bool,
    },
    /// Slots `m`, `v` as Adam's; the step is as long as the parameter, times `lr`.
    Lamb {
        /// For the mean of gradients.
        beta1: f64,
        /// For the mean of their squares.
        beta2: f64,
        /// Keeps the root away from 0.
        epsilon: f64,
    },
    /// Slots `z` and `v`: `z` steps as Adam without its motion, the average of all `z` is kept in `p` itself. (As
    /// Keras 3.15 on TensorFlow has it: `z` begins at 0, and what it was is what it is.)
    ScheduleFree {
        /// How near to the average gradients are taken.
        beta1: f64,
        /// For the mean of squares.
        beta2: f64,
        /// Keeps the root away from 0.
        epsilon: f64,
        /// Over so many updates the learning rate rises.
        warmup: u32,
    },
    /// `p += g + (momentum - 1) p`: the motion of Muon, which is a slot of its own.
    Motion {
        /// How much of the old motion stays.
        momentum: f64,
    },
    /// `p += g`, and `p = 0` whenever an update is made: gradients that are added up over steps.
    Gather,
    /// `p` is the scale of a loss, `g` is 1 where all gradients were finite and else 0, and the slot counts updates in
    /// a row: halved where they were not, doubled after so many.
    Scale {
        /// So many updates in a row.
        growth: u32,
    },
}

/// What of a gradient that is a sum of rows an optimizer wants to know besides the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magnitude {
    /// The sum of the squares.
    Squares,
    /// The sum of the absolute values.
    Absolutes,
}

impl Rule {
    /// How much is remembered of a parameter between steps.
    pub fn slot_count(&self) -> usize {
        match *self {
            Self::Sgd | Self::Motion { .. } | Self::Gather => 0,
            Self::Momentum { .. } | Self::Adagrad { .. } | Self::Lion { .. } | Self::Scale { .. } => 1,
            Self::RmsProp { momentum, centered, .. } => {
                1 + usize::from(momentum > 0.0) + usize::from(centered)
            }
            Self::Adam { amsgrad, .. } => 2 + usize::from(amsgrad),
            Self::Adamax { .. } | Self::Adadelta { .. } | Self::Ftrl { .. } => 2,
            Self::Lamb { .. } | Self::ScheduleFree { .. } => 2,
            Self::Nadam { .. } => 3,
            Self::Adafactor { factored, .. } => {
                if factored {
                    3
                } else {
                    1
                }
            }
        }
    }

    /// The shapes of what is remembered; nothing where there is no such parameter.
    pub fn slots(&self, parameter: &Shape) -> Option<Vec<Shape>> {
        let mut shapes = vec![parameter.clone(); self.slot_count()];
        if let Self::Nadam { .. } = self {
            shapes[2] = Shape::scalar();
        }
        if let Self::Adafactor { factored: true, .. } = self {
            let [outer @ .., rows, columns] = parameter.extents() else { return None };
            let along = |extent: usize| Shape::new([outer, &[extent]].concat());
            (shapes[0], shapes[1]) = (along(*rows), along(*columns));
        }
        Some(shapes)
    }

    /// What else it wants to know of the rows that make up the gradient of an embedding, where Keras looks at them one
    /// by one.
    pub fn magnitude(&self) -> Option<Magnitude> {
        match self {
            Self::Adamax { .. } => Some(Magnitude::Absolutes),
            Self::RmsProp { .. }
            | Self::Adam { .. }
            | Self::Nadam { .. }
            | Self::Adagrad { .. }
            | Self::Adadelta { .. }
            | Self::Ftrl { .. }
            | Self::Adafactor { .. }
            | Self::Lamb { .. }
            | Self::ScheduleFree { .. } => Some(Magnitude::Squares),
            Self::Sgd | Self::Momentum { .. } | Self::Lion { .. } => None,
            Self::Motion { .. } | Self::Gather | Self::Scale { .. } => None,
        }
    }
}
