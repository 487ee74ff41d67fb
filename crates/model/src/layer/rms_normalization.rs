//! Root mean square normalization (Zhang and Sennrich 2019).

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Reduce, Reduction, Unary};
use plimsoll_graph::{Init, Shape};
use serde::{Deserialize, Serialize};

/// Rows divided by their root mean square, then scaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RmsNormalization {
    /// The axes a row is made of, the last ones; counted from the end if negative.
    pub axis: Vec<isize>,
    /// Added to the mean square.
    pub epsilon: f32,
}

impl Default for RmsNormalization {
    fn default() -> Self {
        Self { axis: vec![-1], epsilon: 1e-6 }
    }
}

impl RmsNormalization {
    pub(super) fn kind(&self) -> &'static str {
        "rms_normalization"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let axes = at.axes(&self.axis, x.value)?;
        let first = at.shape(x.value).rank() - axes.len();
        // Keras stretches the scale over the last axes, so it can have no others.
        if axes.is_empty() || axes[0] != first || first == 0 {
            return Err(at.refusal(&[x.value], format!("it does not normalize over axes {:?}", self.axis)));
        }
        let extents = at.shape(x.value).extents().to_vec();
        let own = Shape::new(axes.iter().map(|&axis| extents[axis]).collect::<Vec<_>>());
        let scale = at.parameter("scale", own, Init::Constant(1.0))?;
        let squares = at.op(Unary::Square, &[x.value])?;
        let mean = at.op(Reduce { reduction: Reduction::Mean, axes, keep_axes: true }, &[squares])?;
        let shifted = at.op(Unary::AddScalar(self.epsilon), &[mean])?;
        let inverse = at.op(Unary::Rsqrt, &[shifted])?;
        let normalized = at.op(Binary::Multiply, &[x.value, inverse])?;
        Ok(x.with(at.op(Binary::Multiply, &[normalized, scale])?))
    }
}
