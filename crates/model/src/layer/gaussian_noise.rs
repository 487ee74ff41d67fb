//! Random numbers of the normal distribution, added or multiplied in training.

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, RandomNormal, Unary};
use plimsoll_graph::{ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// In training, `x` plus random numbers of mean 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussianNoise {
    /// The deviation of the random numbers.
    pub stddev: f32,
}

/// In training, `x` times random numbers of mean 1 and deviation `sqrt(rate / (1 - rate))` (Srivastava et al. 2014).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussianDropout {
    /// As in a dropout of the same variance.
    pub rate: f32,
}

impl GaussianNoise {
    pub(super) fn kind(&self) -> &'static str {
        "gaussian_noise"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        if !at.is_training() || self.stddev == 0.0 {
            return Ok(x);
        }
        let noise = noise(at, x.value, self.stddev)?;
        Ok(x.with(at.op(Binary::Add, &[x.value, noise])?))
    }
}

impl GaussianDropout {
    pub(super) fn kind(&self) -> &'static str {
        "gaussian_dropout"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        at.check_rate(self.rate, x.value)?;
        if !at.is_training() || self.rate == 0.0 {
            return Ok(x);
        }
        let noise = noise(at, x.value, (self.rate / (1.0 - self.rate)).sqrt())?;
        let factor = at.op(Unary::AddScalar(1.0), &[noise])?;
        Ok(x.with(at.op(Binary::Multiply, &[x.value, factor])?))
    }
}

fn noise(at: &mut Context<'_>, like: ValueId, deviation: f32) -> Result<ValueId, ShapeError> {
    let (shape, seed) = (at.shape(like).clone(), at.seed());
    let step = at.step()?;
    at.op(RandomNormal { shape, deviation, seed }, &[step])
}
