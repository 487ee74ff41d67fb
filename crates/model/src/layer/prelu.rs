//! The rectifier with learned slopes (He et al. 2015).

use super::{Context, Lowered, Signal};
use plimsoll_graph::op::{Binary, Unary};
use plimsoll_graph::{Init, Shape};
use serde::{Deserialize, Serialize};

/// `x` above 0, else `alpha x`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PRelu {
    /// Axes along which all elements have the same slope; they count from 1, since 0 is the batch.
    pub shared_axes: Vec<usize>,
}

impl PRelu {
    pub(super) fn kind(&self) -> &'static str {
        "p_re_lu"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let mut extents = at.shape(x.value).extents().to_vec();
        for &axis in &self.shared_axes {
            match extents.get_mut(axis) {
                Some(extent) if axis > 0 => *extent = 1,
                _ => return Err(at.refusal(&[x.value], format!("there is no axis {axis} to share"))),
            }
        }
        let alpha = at.parameter("alpha", Shape::new(&extents[1..]), Init::Constant(0.0))?;
        let above = at.op(Unary::Relu, &[x.value])?;
        let below = at.op(Unary::Negate, &[x.value])?;
        let below = at.op(Unary::Relu, &[below])?;
        let below = at.op(Binary::Multiply, &[below, alpha])?;
        Ok(x.with(at.op(Binary::Subtract, &[above, below])?))
    }
}
