//! Dropout that keeps mean and variance of what SELU gives.

use super::dropout::noise_shape;
use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, RandomUniform, Unary};
use serde::{Deserialize, Serialize};

/// In training, the lowest value of SELU in the place of so many elements, then scaled and moved (Klambauer et al.
/// 2017).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlphaDropout {
    /// The probability of dropping an element.
    pub rate: f32,
    /// The shape of the random mask; `None` along axes that have the input's extent.
    pub noise_shape: Option<Vec<Option<usize>>>,
}

/// Minus alpha times scale of SELU.
const LOWEST: f64 = -1.673_263_242_354_377_2 * 1.050_700_987_355_480_5;

impl AlphaDropout {
    pub(super) fn kind(&self) -> &'static str {
        "alpha_dropout"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        at.check_rate(self.rate, x.value)?;
        if !at.is_training() || self.rate == 0.0 {
            return Ok(x);
        }
        let rate = f64::from(self.rate);
        let scale = ((1.0 - rate) * (1.0 + rate * LOWEST * LOWEST)).powf(-0.5);
        let offset = -scale * LOWEST * rate;
        let shape = noise_shape(at, self.noise_shape.as_deref(), x.value)?;
        let seed = at.seed();
        let step = at.step()?;
        let units = at.op(RandomUniform { shape, seed }, &[step])?;
        let rate = at.scalar(self.rate)?;
        let kept = at.op(Binary::GreaterEqual, &[units, rate])?;
        let masked = at.op(Binary::Multiply, &[x.value, kept])?;
        let dropped = at.op(Unary::AddScalar(-1.0), &[kept])?;
        let lowest = at.op(Unary::MultiplyScalar(-LOWEST as f32), &[dropped])?;
        let mixed = at.op(Binary::Add, &[masked, lowest])?;
        let scaled = at.op(Unary::MultiplyScalar(scale as f32), &[mixed])?;
        Ok(x.with(at.op(Unary::AddScalar(offset as f32), &[scaled])?))
    }
}
