//! How parameters start, in Keras's words.

use plimsoll_graph::{Init, Shape};
use serde::{Deserialize, Serialize};

/// How a kernel starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initializer {
    /// Every element the same.
    Constant(f32),
    /// Uniform in `[-limit, limit)`.
    RandomUniform(f32),
    /// Normal with this deviation, redrawn outside two deviations.
    TruncatedNormal(f32),
    /// Of variance `scale / fan`.
    VarianceScaling {
        /// The factor.
        scale: f32,
        /// What the variance is divided by.
        mode: Fan,
        /// From which the elements are drawn.
        distribution: Distribution,
    },
    /// Random with orthonormal rows or columns.
    Orthogonal,
}

/// How many numbers meet in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fan {
    /// Those that go in.
    In,
    /// Those that go out.
    Out,
    /// The mean of both.
    Average,
}

/// The shape of a random distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// All values of an interval alike.
    Uniform,
    /// Normal, redrawn outside two deviations.
    TruncatedNormal,
}

/// The deviation of a normal distribution of deviation 1 that is redrawn outside two deviations.
const TRUNCATED_DEVIATION: f64 = 0.879_625_661_034_239_8;

impl Initializer {
    /// Glorot and Bengio 2010, Keras's default for kernels.
    pub const GLOROT_UNIFORM: Self = Self::scaled(1.0, Fan::Average, Distribution::Uniform);
    /// He et al. 2015, for networks of rectifiers.
    pub const HE_NORMAL: Self = Self::scaled(2.0, Fan::In, Distribution::TruncatedNormal);

    /// Variance scaling from its parts.
    pub const fn scaled(scale: f32, mode: Fan, distribution: Distribution) -> Self {
        Self::VarianceScaling { scale, mode, distribution }
    }

    /// The start of a kernel whose last two axes are inputs and outputs and whose other axes are the window.
    pub fn for_kernel(self, shape: &Shape) -> Init {
        let extent = |axis: usize| shape.extents().get(axis).map_or(1.0, |&extent| extent as f64);
        let rank = shape.rank();
        let window: f64 = (0..rank.saturating_sub(2)).map(extent).product();
        self.with_fans(window * extent(rank.saturating_sub(2)), window * extent(rank.saturating_sub(1)))
    }

    /// The start of a parameter where so many numbers go in and out of a unit.
    pub fn with_fans(self, fan_in: f64, fan_out: f64) -> Init {
        match self {
            Self::Constant(value) => Init::Constant(value),
            Self::RandomUniform(limit) => Init::Uniform(limit),
            Self::TruncatedNormal(deviation) => Init::TruncatedNormal(deviation),
            Self::Orthogonal => Init::Orthogonal,
            Self::VarianceScaling { scale, mode, distribution } => {
                let fan = match mode {
                    Fan::In => fan_in,
                    Fan::Out => fan_out,
                    Fan::Average => (fan_in + fan_out) / 2.0,
                };
                let variance = f64::from(scale) / fan.max(1.0);
                match distribution {
                    Distribution::Uniform => Init::Uniform((3.0 * variance).sqrt() as f32),
                    Distribution::TruncatedNormal => {
                        Init::TruncatedNormal((variance.sqrt() / TRUNCATED_DEVIATION) as f32)
                    }
                }
            }
        }
    }
}

impl Default for Initializer {
    fn default() -> Self {
        Self::GLOROT_UNIFORM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_keras_s() {
        let glorot = Initializer::GLOROT_UNIFORM.for_kernel(&Shape::new([784, 100]));
        assert_eq!(glorot, Init::Uniform((6.0f64 / 884.0).sqrt() as f32));
        let he = Initializer::HE_NORMAL.for_kernel(&Shape::new([3, 3, 16, 32]));
        assert_eq!(he, Init::TruncatedNormal(((2.0f64 / 144.0).sqrt() / TRUNCATED_DEVIATION) as f32));
    }
}
