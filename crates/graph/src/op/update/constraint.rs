//! Projections of a parameter after its update: Keras 3's constraints.

use serde::{Deserialize, Serialize};

/// What must hold of a parameter after each update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// No element is below 0.
    NonNegative,
    /// Along these axes no norm is above a limit.
    MaxNorm {
        /// The most.
        limit: f64,
        /// The axes whose squares are added up.
        axes: Vec<usize>,
    },
    /// Along these axes every norm is 1.
    UnitNorm {
        /// The axes whose squares are added up.
        axes: Vec<usize>,
    },
    /// Along these axes norms are drawn into a range.
    MinMaxNorm {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
        /// How far they are drawn: 1 all the way.
        rate: f64,
        /// The axes whose squares are added up.
        axes: Vec<usize>,
    },
}

impl Constraint {
    /// The axes that belong together.
    pub fn axes(&self) -> &[usize] {
        match self {
            Self::NonNegative => &[],
            Self::MaxNorm { axes, .. } | Self::UnitNorm { axes } | Self::MinMaxNorm { axes, .. } => axes,
        }
    }

    /// What a vector of this norm is multiplied by.
    pub fn factor(&self, norm: f64) -> f64 {
        // Keras adds this to every divisor.
        const EPSILON: f64 = 1e-7;
        match *self {
            Self::NonNegative => 1.0,
            Self::MaxNorm { limit, .. } => norm.clamp(0.0, limit) / (EPSILON + norm),
            Self::UnitNorm { .. } => 1.0 / (EPSILON + norm),
            Self::MinMaxNorm { least, most, rate, .. } => {
                let wanted = rate * norm.max(least).min(most) + (1.0 - rate) * norm;
                wanted / (EPSILON + norm)
            }
        }
    }
}
